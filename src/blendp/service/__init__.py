"""The collector: campaigns from their terms to their release, and the reports of a fleet, durable and at most once."""
