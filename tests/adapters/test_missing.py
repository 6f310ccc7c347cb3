"""Without its framework an adapter says what to install; the others are not touched by that."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.process

NEEDS = {
    "pydantic_ai": "pydantic-ai",
    "langgraph": "langgraph",
    "openai_agents": "openai-agents",
    "anthropic_sdk": "anthropic",
    "langchain": "langchain",
}
"""Each adapter, and the extra that brings what it needs."""
APART = {
    "llama_index": "llama-index-core",
    "google_adk": "google-adk",
    "crewai": "crewai",
    "agent_framework": "agent-framework-core",
}
"""Those with pins of their own, and the package; `make test-adapters` runs a program on each."""


def _python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_a_framework_that_is_not_installed_is_named_with_the_line_that_installs_it() -> None:
    said = _python(
        "import importlib, sys\n"
        "gone = ('pydantic_ai', 'langgraph', 'agents', 'anthropic', 'langchain_core', 'llama_index', 'google.adk',"
        " 'crewai', 'agent_framework')\n"
        "for name in gone: sys.modules[name] = None\n"
        f"for adapter in {[*NEEDS, *APART]}:\n"
        "    try: importlib.import_module(f'keepbook.adapters.{adapter}')\n"
        "    except ImportError as error: print(error)"
    )
    assert [line.rpartition("install it with: ")[2] for line in said.splitlines()] == [
        *(f"pip install 'keepbook[{extra}]'" for extra in NEEDS.values()),
        *(f"pip install {package}" for package in APART.values()),
    ]


def test_the_memory_tool_itself_needs_no_sdk() -> None:
    said = _python(
        "import sys; sys.modules['anthropic'] = None\n"
        "from keepbook import Keepbook\n"
        "from keepbook.adapters.anthropic_memory import MemoryFiles\n"
        "files = MemoryFiles(Keepbook(':memory:'), owner='alice')\n"
        "print(files.run({'command': 'create', 'path': '/memories/a.md', 'file_text': 'Likes tea'}))"
    )
    assert said == "File created successfully at: /memories/a.md"


def test_keepbook_alone_loads_no_framework() -> None:
    loaded = _python(
        "import sys, keepbook\nfrom keepbook import Keepbook\nKeepbook(':memory:').book('a').remember('Likes tea')\n"
        "print([name for name in ('pydantic_ai', 'langgraph', 'agents', 'anthropic') if name in sys.modules])"
    )
    assert loaded == "[]"
