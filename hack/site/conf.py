"""How Sphinx makes a site of docs/, which is written for reading on a forge."""

import html
import os
import posixpath
import re

from docutils import nodes
from docutils.parsers.rst import Directive

project = "cephtune"
author = "The cephtune authors"
copyright = author  # noqa: A001
root_doc = "README"

extensions = ["myst_parser"]
myst_enable_extensions = ["linkify"]
myst_fence_as_directive = ["mermaid"]
myst_heading_anchors = 6
# `yml` marks YAML of other programs, which the tests in internal/docs do not check.
myst_linkify_fuzzy_links = False
suppress_warnings = ["misc.highlighting_failure", "myst.header"]

html_theme = "furo"
html_title = "cephtune"
html_static_path = [os.environ["SITE_STATIC"]]
html_extra_path = ["extra"]
html_copy_source = False
html_last_updated_fmt = None
html_theme_options = {"source_repository": os.environ["SITE_REPOSITORY"], "source_branch": "main", "source_directory": "docs/"}
LINK = re.compile(r"(\]\()([^)#\s]+)([^)\s]*\))")
FENCE = re.compile(r"^(```.*?^```)", re.MULTILINE | re.DOTALL)
DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs")


def outside(docname, target):
    """The address on the forge of what a page links to outside of docs/; None for a page."""
    if re.match(r"[a-z]+:", target):
        return None
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(docname), target))
    if path.startswith("docs/") and not os.path.isdir(os.path.join(DOCS, "..", path)):
        return None
    kind = "tree" if os.path.isdir(os.path.join(DOCS, "..", path)) else "blob"
    return f"{os.environ['SITE_REPOSITORY'].rstrip('/')}/{kind}/main/{path}"


def at_forge(docname, text):
    """The text with links that lead out of docs/ going to the forge."""
    def replace(match):
        return match[1] + (outside(docname, match[2]) or match[2]) + match[3]
    parts = FENCE.split(text)
    parts[::2] = [LINK.sub(replace, part) for part in parts[::2]]
    return "".join(parts)


def contents(docname, text):
    """A table of contents for each section of an index, of the pages that it is first to link to."""
    blocks, seen = [], set()
    for section in re.split(r"^## ", text, flags=re.MULTILINE):
        title = section.split("\n", 1)[0] if blocks or not section.startswith("#") else ""
        pages = []
        for _, target, _ in LINK.findall(section):
            if target.endswith(".md") and not target.startswith("..") and target not in seen:
                seen.add(target)
                pages.append(target[: -len(".md")])
        if pages:
            caption = f":caption: {title}\n" if docname == root_doc else ""
            blocks.append(f"\n```{{toctree}}\n:hidden:\n{caption}\n" + "\n".join(pages) + "\n```\n")
    return text + "".join(blocks)


def read_source(_app, docname, source):
    text = source[0]
    if posixpath.basename(docname) == "README":
        text = contents(docname, text)
    source[0] = at_forge(docname, text)


class Diagram(Directive):
    """A fenced block of Mermaid, which the browser draws."""

    has_content = True

    def run(self):
        text = html.escape("\n".join(self.content))
        return [nodes.raw("", f'<pre class="mermaid">\n{text}\n</pre>', format="html")]


def load_mermaid(app, _pagename, _templatename, context, _doctree):
    """Has pages with diagrams load what draws them, from the site itself."""
    if '<pre class="mermaid">' in context.get("body", ""):
        app.add_js_file("mermaid.min.js")


def setup(app):
    app.add_directive("mermaid", Diagram)
    app.connect("source-read", read_source)
    app.connect("html-page-context", load_mermaid)
    return {"parallel_read_safe": True}
