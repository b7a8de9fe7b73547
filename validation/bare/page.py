# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The commands and programs that a Markdown file shows, read from it, so that what is tested is what
people read."""
import re


class Page:
    """Commands are the lines of indented blocks; each is to be taken once."""

    def __init__(self, path):
        self.path = path
        self.text = path.read_text()
        self.blocks = re.findall(r"^```(\w*)\n(.*?)^```", self.text, re.M | re.S)
        self.outside = re.sub(r"^```.*?^```", "", self.text, flags=re.M | re.S)
        self.left = self.shown_in(self.outside)

    @staticmethod
    def shown_in(text):
        """The commands of a text: lines of indented blocks."""
        outside = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
        shown, joined = [], ""
        for line in re.findall(r"^    ([a-z./][^│┌└▶\n]*|  +-.*)$", outside, re.M):
            joined += re.sub(r"\s{2,}#.*", "", line).strip()
            if joined.endswith("\\"):  # goes on in the next line
                joined = joined[:-1].rstrip() + " "
            else:
                shown.append(joined)
                joined = ""
        return shown

    def command(self, beginning):
        for line in self.left:
            if line.startswith(beginning):
                self.left.remove(line)
                return line
        raise LookupError(f"{self.path.name} shows no command that begins with '{beginning}'")

    def inline(self, beginning):
        """A command, or a part of one, between back-quotes within the text."""
        for text in re.findall(r"`([^`]+)`", self.outside):
            if " ".join(text.split()).startswith(beginning):
                return " ".join(text.split())
        raise LookupError(f"{self.path.name} does not mention '{beginning}'")

    def block(self, language):
        return next(text for kind, text in self.blocks if kind == language)
