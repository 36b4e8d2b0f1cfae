"""``blendp campaign publish``: the list of the opt-in people's records."""

from __future__ import annotations

from typing import Annotated

from blendp.cli.campaign.forecast import LIKE, Like, warn_of_forecast
from blendp.cli.campaign.options import AsJson, CampaignName, CollectorOptions, Yes, agreed, require_answer, say, warn
from blendp.cli.console import print_json
from blendp.cli.panels import output, takes_job
from blendp.cli.serve import note
from blendp.render.plan.forecast import forecast_words
from blendp.service.operator_client import OperatorClient, OperatorError
from blendp.spelling import counted
from blendp.wire.forecast import ListForecast

EXAMPLES = """Examples:

- `blendp campaign publish trends-2026-11 --preview`
- `blendp campaign publish trends-2026-11`
- `blendp campaign publish trends-2026-11 --like yandex --yes`
"""


@takes_job
def publish(
    job: CollectorOptions,
    campaign: CampaignName,
    like: Like = LIKE,
    preview: Annotated[
        bool, output("--preview", help="Show alone what the list will probably hold: nothing is drawn.")
    ] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Make the list of the opt-in records, publish it, and delete the records. Clients report from now on.

    Shows first what the list will probably hold, and asks. The forecast follows from the number of people and the
    promise alone, not from their records. The list is drawn once, for good. Refused below the campaign's minimum of
    opt-in people.
    """
    if not (yes or preview):
        require_answer("The list is drawn once, for good; --preview shows what it will probably hold.")
    with job.client() as client:
        forecast = known_forecast(client, campaign, like, is_all=preview)
        if forecast is not None:
            (say if preview and not as_json else note)(forecast_words(forecast))
            warn_of_forecast(forecast)
        if preview and forecast is not None:
            if as_json:
                print_json(forecast.to_dict())
            return
        if not yes and not agreed(f"Draw and publish the list of {campaign} for good?", "Nothing was drawn."):
            return
        published = client.publish(campaign)
    for caution in published.cautions:
        warn(caution)
    if as_json:
        print_json({**published.to_dict(), "forecast": forecast and forecast.to_dict()})
        return
    people = counted(published.opt_in_people, "opt-in person", "opt-in people")
    say(f"{campaign}: {people} made a list of {counted(published.records, 'record', 'records')}; it is public.")
    say(f"Manifest {published.manifest_sha256}, list {published.list_sha256}.")


def known_forecast(client: OperatorClient, campaign: str, like: str, *, is_all: bool) -> ListForecast | None:
    """What the list will probably hold; None, with a caution, if the collector cannot say so now.

    Nobody is kept from publishing by that, unless the forecast is all that was asked for.
    """
    try:
        return client.forecast(campaign, like)
    except OperatorError as error:
        if is_all or error.slug != "busy":
            raise
        warn(f"There is no forecast. {error.detail}")
        return None
