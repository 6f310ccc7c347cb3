"""Decides where a page shows the error of a form, and in which words.

An error about a control of the form is shown beside that control, which gets the focus: on a phone the page scrolls
there, and a screen reader reads the sentence with the field. Any other error is shown above the form and gets the focus
itself. Beside a control, the name by which programs know the field is replaced by "this".
"""

from collections.abc import Iterable, Mapping

from markupsafe import Markup

from keepbook.errors import KeepbookError

_BESIDE = Markup(
    '<p class="error" id="{}"><svg class="ico" aria-hidden="true"><use href="#i-warn"/></svg><span>{}</span></p>'
)
_ABOVE = Markup(
    '<div class="banner bad" role="alert" tabindex="-1" autofocus>'
    '<svg class="ico" aria-hidden="true"><use href="#i-warn"/></svg><div><strong>{}</strong>{}</div></div>'
)


class FormError:
    """The error of a form. `controls` are the names of its controls, or a mapping to them from the field of an error.
    An error about any other field is shown at the control `otherwise`, if that is given."""

    def __init__(
        self,
        error: KeepbookError | None,
        controls: Iterable[str] | Mapping[str, str] = (),
        otherwise: str | None = None,
    ) -> None:
        self._error = error
        self._said: dict[str, str] = {}
        if error is None:
            return
        known = controls if isinstance(controls, Mapping) else {name: name for name in controls}
        several: Mapping[str, str] = error.details.get("fields") or {error.field or "": error.message}
        for field, message in several.items():
            control = known.get(field, otherwise)
            if control is not None:
                self._said[control] = _sentence(_without_name(message, field))

    def __bool__(self) -> bool:
        return self._error is not None

    @property
    def control(self) -> str | None:
        """The first control that is wrong."""
        return next(iter(self._said), None)

    def marks(self, control: str, hint: str = "", *, ready: bool = False) -> Markup:
        """The HTML attributes of a control: whether it is wrong, which elements describe it (`hint` is one more), and
        whether it has the focus. A `ready` control has the focus if the form has no error."""
        is_wrong = control in self._said
        described = f"bad-{control} {hint}".strip() if is_wrong else hint
        made = Markup()
        if described:
            made += Markup(' aria-describedby="{}"').format(described)
        if is_wrong:
            made += Markup(' aria-invalid="true"')
        if control == self.control or (ready and self._error is None):
            made += Markup(" autofocus")
        return made

    def beside(self, control: str) -> Markup:
        """The sentence beside a control; empty if it is not wrong."""
        if control not in self._said:
            return Markup()
        return _BESIDE.format(f"bad-{control}", self._said[control])

    def above(self, lead: str = "") -> Markup:
        """The sentence above the form; empty if there is no error, or if it is shown beside a control."""
        if self._error is None or self._said:
            return Markup()
        said = _sentence(self._error.message)
        if lead:
            return _ABOVE.format(lead, f" {said}")
        return _ABOVE.format(said, "")


def _without_name(message: str, field: str) -> str:
    """The message with the name of the field replaced by "this"."""
    said = message.strip()
    if field and said.startswith(f"{field} "):
        said = said.removeprefix(f"{field} ")
    if said.startswith("is "):
        said = f"this {said}"
    if "_" in field:
        return said.replace(field, "this")
    return said


def _sentence(said: str) -> str:
    said = said.strip()
    said = said[:1].upper() + said[1:]
    if said.endswith((".", "!", "?", "…")):
        return said
    return f"{said}."
