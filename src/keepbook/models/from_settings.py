"""The models of an installation, from its settings."""

from keepbook.models.choose import Models, ModelSettings, choose_models
from keepbook.models.offline.model import OfflineModel
from keepbook.models.outward import OutwardDoor
from keepbook.settings import Settings


def notebook_alone() -> Models:
    """The models of the demo: only the offline one, whatever is asked for."""
    only = OfflineModel()
    return Models(only, only, only)


def models_under(known: Settings, outward: OutwardDoor) -> Models:
    """The models that the settings name; `outward` connects to their addresses."""
    openai_key = known.openai_key.reveal() if known.openai_key else None
    anthropic_key = known.anthropic_key.reveal() if known.anthropic_key else None
    chosen = ModelSettings(
        model=known.model,
        cheap_model=known.cheap_model,
        reader_model=known.reader_model,
        openai_base_url=known.openai_base_url,
        openai_key=openai_key,
        anthropic_base_url=known.anthropic_base_url,
        anthropic_key=anthropic_key,
        model_timeout=known.model_timeout,
        context_tokens=known.context_tokens,
        outward=outward,
    )
    return choose_models(chosen, OfflineModel())
