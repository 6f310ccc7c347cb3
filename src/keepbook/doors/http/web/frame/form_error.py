"""Where a page shows what was wrong with a form, and in which words: the one piece that decides it.

What names a control of the form stands beside that control, which takes the focus: on a phone the page scrolls there,
and a screen reader reads the sentence with the field. What names none stands above the form and takes the focus
itself. The names that programs know a field by are not read aloud beside it: there it is "this".
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
    """What was wrong with a form that has these `controls`: their names, or by which field of an error each is meant.
    An error of none of them goes to `otherwise`, where there is one."""

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
        if isinstance(controls, Mapping):
            known = controls
        else:
            known = {name: name for name in controls}
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
        """The attributes of a control: whether it is wrong, and what describes it. One that is `ready` to be written
        in has the focus unless another is wrong."""
        is_wrong = control in self._said
        if is_wrong:
            described = f"bad-{control} {hint}".strip()
        else:
            described = hint
        if described:
            made = Markup(' aria-describedby="{}"').format(described)
        else:
            made = Markup()
        if is_wrong:
            made += Markup(' aria-invalid="true"')
        if control == self.control or (ready and self._error is None):
            made += Markup(" autofocus")
        return made

    def beside(self, control: str) -> Markup:
        """The sentence at a control that is wrong."""
        if control not in self._said:
            return Markup()
        return _BESIDE.format(f"bad-{control}", self._said[control])

    def above(self, lead: str = "") -> Markup:
        """The sentence above the form, where no control of it is to blame."""
        if self._error is None or self._said:
            return Markup()
        said = _sentence(self._error.message)
        if lead:
            return _ABOVE.format(lead, f" {said}")
        return _ABOVE.format(said, "")


def _without_name(message: str, field: str) -> str:
    """Beside its field, what a program calls the field is "this"."""
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
