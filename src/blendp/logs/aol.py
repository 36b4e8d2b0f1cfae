"""How files of the AOL collection begin, and where their fields stand."""

AOL_HEADER = ("AnonID", "Query", "QueryTime", "ItemRank", "ClickURL")
AOL_FIELDS = {"user": 0, "query": 1, "url": 4}
