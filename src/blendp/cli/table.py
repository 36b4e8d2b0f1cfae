"""Which commands there are: the name and one line of help of each, so that listing them imports none of them.

The command ``a-b`` of the group ``g`` is the function ``a_b`` of the module ``blendp.cli.g.a_b``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class CommandGroup(NamedTuple):
    """Commands that share a name: what they are for, and the line of each."""

    help: str
    commands: Mapping[str, str]


COMMANDS: Mapping[str, str] = {
    "demo": "Make a population, run the blendp method on it, and compare with the truth.",
    "synthesise": "Make a log of people who do not exist, as popular and as rare as the paper's AOL and Yandex logs.",
    "run": "Release the popular records of a log.",
    "show": "Print a result again as its command did: what it is of, the promise, cautions, and the first rows.",
    "evaluate": "Compare a method with the log's own truth. NOT PRIVATE: for the eyes of those who hold the log.",
    "plan": "Predict the list and the errors of a release, and what reaches a target. No population is run.",
    "reproduce": "Make the figures of the paper anew, with the published method and with blendp side by side. NOT "
    "PRIVATE.",
    "tally": "Count clients' reports, each at most once, and estimate from them.",
    "serve": "Run a collector: it takes opt-in records and reports, and publishes lists and results, all signed.",
    "backup": "Write a backup of a collector, as it is at one moment, also while it runs.",
    "migrate": "Bring a collector's database to the schema of this version of blendp, or back to an older one.",
    "restore": "Put a backup in place of nothing, or of the collector that is there, and bring it to the newest "
    "schema.",
}
"""Of the commands without a group."""

RENAMED: Mapping[str, str] = {"simulate": "synthesise"}
"""Former names of commands: they still work, and say so."""

GROUPS: Mapping[str, CommandGroup] = {
    "survey": CommandGroup(
        "Learn how people answer several questions without learning what any person answered.\n\n"
        "A few people trust the curator (opt-in) and show how answers hang together; everybody else randomises "
        "answers before sending them (clients), only as strongly as that requires; both estimates are blended.",
        {
            "synthesise": "Make a table of answers of people who do not exist, and its questionnaire, to try surveys "
            "out.",
            "plan": "Predict the errors of every method, what reports reveal, and who reports what. No survey is "
            "carried out.",
            "run": "Release the frequencies of all answers.",
            "evaluate": "Compare methods with the people's own answers. NOT PRIVATE: for the eyes of those who hold "
            "the answers.",
        },
    ),
    "campaign": CommandGroup(
        "Run campaigns on a collector: list, create, enrol, publish, release, export, delete, audit.\n\n"
        "Opt-in people send their records first; the list that they make is published, and clients report about it; "
        "the result of both is released. The operator's token comes from the environment variable BLENDP_TOKEN or "
        "from --token-file.",
        {
            "list": "Show every campaign of a collector: name, title, state. That is public, so no token is needed.",
            "create": "Fix and sign the terms of a new campaign. They never change: another promise or date is "
            "another campaign.",
            "enrol": "Make one-time tokens: each lets one person send records, once. They are shown this once.",
            "publish": "Make the list of the opt-in records, publish it, and delete the records. Clients report from "
            "now on.",
            "status": "Show a campaign's state, how far it is from its minimums, what became of reports, its list "
            "and its promise.",
            "release": "Compute the result, publish it, and delete reports and pseudonyms. No more reports are taken.",
            "export": "Write a released campaign to a directory: whole or not at all, once its documents are found "
            "to fit together.",
            "delete": "Delete records, reports, documents and keys of a campaign, whatever its state. Its name is "
            "never used again.",
            "audit": "Show what operators did: which token, what, when, with what outcome. Also of campaigns that "
            "are deleted.",
        },
    ),
    "clock": CommandGroup(
        "Show the day that a collector goes by, and confirm it where it is in doubt.\n\n"
        "A clock that jumped could have reports refused, campaigns deleted and keys destroyed before their time, so "
        "a collector does none of that until the clock is set right, or an operator says that it is.",
        {
            "show": "Show the day that the collector goes by, and why, if that is not the day of its system's clock.",
            "accept": "Say that the clock of the collector's machine is right, after it jumped or the collector was "
            "off for long.",
        },
    ),
    "token": CommandGroup(
        "Make, list and revoke the tokens of operators.\n\n"
        "Works on the collector's store, on the machine that can reach it, also while the collector runs. The store "
        "knows hashes alone: a token is shown once.",
        {
            "create": "Print a new token, for all scopes if none is said. It is shown this once, and kept nowhere.",
            "list": "Show every token by its id: whose it is, what it may do, since when, and whether it was revoked.",
            "revoke": "Make a token worthless, at once, in all processes of the collector.",
        },
    ),
    "key": CommandGroup(
        "Show and replace the keys that a collector signs its documents with.\n\n"
        "Works on the collector's store, on the machine that can reach it, also while the collector runs.",
        {
            "list": "Show the public keys, the newest last, and until when each is good.",
            "rotate": "Make a new signing key, vouched for by the old one, and sign every document with it. Prints "
            "the public key.",
        },
    ),
    "client": CommandGroup(
        "Take part in campaigns from this device, and see what it sends.\n\n"
        "Nothing is made or sent before consent. Reports are randomised here, once, and written down with their cost "
        "before they are sent; what all campaigns cost together has a cap for a year and one for life.",
        {
            "consent": "Show or set what you agree to: off (nothing), local (randomised reports) or opt-in (also "
            "records).",
            "list": "Show the latest campaigns of a collector: what is asked, by whom, until when, and whether you "
            "took part.",
            "look": "Fetch and verify a campaign's terms, manifest and list, and show who asks, what for, and what "
            "they promise.",
            "take-part": "Randomise one report about your records and queue it, once: a second call draws nothing.",
            "enrol": "Queue some of your records, drawn at random, for the curator of a campaign that you trust, to "
            "make its list of.",
            "send": "Send what is due: reports, opt-in records, deletion requests. What fails is tried again later, "
            "unchanged.",
            "forget": "Drop what was not sent to a campaign, and ask its collector to delete what was.",
            "explain": "Say, exactly, how likely this very report was for everything you might hold, and what others "
            "learn from it.",
            "ledger": "Show what every participation cost, and what remains of the caps for a year and for life.",
            "show": "Show every payload exactly as it was or will be sent, and its fate.",
        },
    ),
    "search": CommandGroup(
        "Search a release offline.\n\n"
        "An index has the listed records of a release with their shares and errors. It is a function of the release, "
        "so everybody makes the same bytes, and searching it tells nobody what is typed.",
        {
            "build": "Make the offline index of a release: a function of its bytes alone, so everybody makes the same.",
            "query": "Show what an index finds for a text: exact, then beginnings, words and typing errors, each by "
            "share.",
        },
    ),
    "vectors": CommandGroup(
        "Cases that hold clients in any language to the specification.\n\n"
        "A vector is a call with its input and what comes out, or the reason for which it is refused. Whoever writes a "
        "client replays them all before it talks to anybody.",
        {
            "check": "Replay the vectors for a client in any language, over its standard input and output.",
            "list": "Show how many vectors there are of every kind, their call, and the rules of the specification "
            "that they test.",
            "write": "Make all vectors anew with this version of blendp, the same bytes every time.",
        },
    ),
}
