"""Text that others may read: without the passwords in it, and without characters that a terminal
obeys.
"""

import re
from collections.abc import Mapping
from typing import Any

MASK = "…"  # stands for a secret

_PASSWORD = re.compile(
    r"(https?://[^\s/?#@:]*):(?!\d+[/?#])\S+@|((?<!http)(?<!https)://[^\s/?#@:]*):\S+@",
    re.IGNORECASE,
)
"""``user:password@`` up to the last @, since drivers take passwords with / and @ in them; a
server's port is none.
"""
_TOKEN = re.compile(r"(https?://)[^\s/?#@:]+@", re.IGNORECASE)
_QUERY = re.compile(
    r"([?&;](?:[\w.-]*(?:passw|pwd|passphrase|secret|token|(?:api|access|account|private)[_-]?key"
    r"|credential|signature)[\w.-]*|sig|auth|key)=)[^&#;\s'\"]+",
    re.IGNORECASE,
)
_OBEYED = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Control characters but tab and newline; what turns the direction of writing; halves of
characters.
"""


def masked(text: str) -> str:
    """Return the text with the secrets of its addresses as "…": ``user:password@``,
    ``https://token@``, ``?token=…``.
    """
    if "://" not in text:
        return text
    return _QUERY.sub(
        rf"\1{MASK}", _TOKEN.sub(rf"\1{MASK}@", _PASSWORD.sub(rf"\1\2:{MASK}@", text))
    )


def masked_values(value: object) -> Any:
    """Return the same of every text in nested mappings and lists."""
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, Mapping):
        return {key: masked_values(item) for key, item in value.items()}
    return [masked_values(item) for item in value] if isinstance(value, list | tuple) else value


def visible(text: str) -> str:
    r"""Return the text with control characters spelled out ("\\x1b"): names in files must not move
    the cursor or set colours.
    """
    return _OBEYED.sub(
        lambda found: (
            f"\\x{ord(found[0]):02x}" if found[0] <= "\xff" else f"\\u{ord(found[0]):04x}"
        ),
        text,
    )
