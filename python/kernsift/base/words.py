"""The words of errors: the nearest right word, and names as users know them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

#: Words of other libraries, and ours.
_ELSEWHERE = {"gaussian": "rbf", "gauss": "rbf", "squared_exponential": "rbf", "rmse": "squared"}


def did_you_mean(word: str, words: Sequence[str]) -> str:
    """Return the end of an error: the nearest of the words that would have been right, if one is near."""
    plain = {known.lower(): known for known in words}
    asked = word.lower()
    asked = _ELSEWHERE.get(asked, asked)
    near = [known for known in plain if asked and known.startswith(asked)]
    near = near or difflib.get_close_matches(asked, plain, n=1, cutoff=0.6)
    return f" (did you mean {plain[near[0]]!r}?)" if near else ""


def in_our_words(text: str) -> str:
    """An error of scikit-learn's constraints: classes by their public names, words in the order of the alphabet."""
    text = re.sub(r"'kernsift\.[\w.]+\.(\w+)'", r"'kernsift.\1'", text.replace("base.groups.", ""))
    text = re.sub(r"'numpy\.random\.\w+\.(\w+)'", r"'numpy.random.\1'", text)
    return re.sub(r"\{('[^{}]*')\}", lambda found: "{" + ", ".join(sorted(found[1].split(", "))) + "}", text)
