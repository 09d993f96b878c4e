"""The commands about recipes."""

from __future__ import annotations

from podium.commands.spec.table import JSON, RECIPE_CWD, Command, option, positional

RECIPE = positional("NAME", "name", "a recipe's id", values="recipes", means="id")

RECIPES = (
    Command(
        ("recipe",),
        "list, show, check, draw and simulate recipes",
        "Recipes are state machines for agents: steps, outcomes, limits.",
        "podium recipe list",
    ),
    Command(
        ("recipe", "list"),
        "the recipes there are",
        "The project's, yours and the built-in ones.",
        "podium recipe list --cwd ~/project",
        "commands.recipes:list_recipes",
        (RECIPE_CWD, JSON),
    ),
    Command(
        ("recipe", "show"),
        "a recipe's steps, outcomes and limits",
        "The recipe as text, or with --json as data.",
        "podium recipe show implement-and-review",
        "commands.recipes:show",
        (RECIPE, RECIPE_CWD, JSON),
    ),
    Command(
        ("recipe", "check"),
        "what is wrong with a recipe, before it runs",
        "Every fault and doubt with file, line and step, and what the recipe may cost at worst. "
        "Exit code 1 if there is an error.",
        "podium recipe check .podium/recipes/ship-a-fix.toml",
        "commands.recipes:check",
        (
            positional(
                "FILE|NAME",
                "file",
                "a recipe's file, or its id; '-' reads standard input",
                means="id",
                values="files",
            ),
            RECIPE_CWD,
            JSON,
        ),
    ),
    Command(
        ("recipe", "graph"),
        "a recipe as a picture",
        "The machine in the language of Mermaid or of Graphviz (dot). With --output FILE.svg, "
        ".png or .pdf it is drawn, which needs Graphviz; into any other FILE the text is written.",
        "podium recipe graph implement-and-review --output recipe.svg",
        "commands.recipes:graph",
        (
            RECIPE,
            option(
                "--format",
                "the language (default: mermaid, for a picture dot)",
                choices=("mermaid", "dot"),
            ),
            option("--output", "write or draw it into this file", "FILE", values="files"),
            RECIPE_CWD,
            JSON,
        ),
    ),
    Command(
        ("recipe", "sim"),
        "where outcomes lead, without an agent",
        "Walk through the machine. Gates are answered with yes and checks pass, unless the list "
        "says 'declined' or 'checks-failed'; all limits hold. --paths lists every way to each "
        "end. --step plays one step with replies from a file: texts with a line '---' between "
        "two of them, each read as an agent's reply, retries included. In a conversation lines "
        "that begin with '>' are the person's, and fenced JSON blocks with an 'action' call "
        "Podium's tools.",
        "podium recipe sim implement-and-review --outcomes complete,no-issues,committed",
        "commands.recipes:sim",
        (
            RECIPE,
            option("--outcomes", "the outcomes, joined by commas", "A,B,C", may_be_empty=True),
            option("--paths", "every simple path to each exit"),
            option("--step", "play this step alone", "STEP"),
            option("--script", "its replies; '-' reads standard input", "FILE", values="files"),
            RECIPE_CWD,
            JSON,
        ),
    ),
    Command(
        ("recipe", "outcome"),
        "how a reply would be read at a step",
        "Read an agent's reply and print its outcome; exit code 1 and the reason if none.",
        "podium recipe outcome implement-and-review code-review reply.txt",
        "commands.recipes:outcome",
        (
            RECIPE,
            positional("STEP", "step", "one of its steps", values="steps"),
            positional(
                "FILE",
                "file",
                "the reply (default: standard input, as with '-')",
                optional=True,
                default="-",
                values="files",
            ),
            RECIPE_CWD,
            JSON,
        ),
    ),
    Command(
        ("recipe", "trust"),
        "let the recipes of a project run",
        "Recipes that come with a project do not run before you have agreed to them. Shows what "
        "the new and the changed ones would do, and asks. A recipe whose file or prompt files "
        "change must be trusted again.",
        "podium recipe trust ~/project",
        "commands.recipe_trust:trust",
        (
            positional(
                "DIR",
                "place",
                "the project (default: this directory)",
                optional=True,
                values="directories",
            ),
            option("--cwd", "the same", "DIR", values="directories"),
            option("--yes", "trust them without asking"),
            option("--revoke", "trust no recipe of the project any more"),
            JSON,
        ),
    ),
    Command(
        ("recipe", "new"),
        "write a recipe to begin with",
        "Write a recipe with notes on each line: into the project's .podium/recipes, or with "
        "--user among your own. Never overwrites a file; needs no daemon.",
        "podium recipe new ship-a-fix",
        "commands.recipe_new:new",
        (
            positional("ID", "name", "its id: lower-case words joined by hyphens"),
            RECIPE_CWD,
            option("--user", "a recipe for all projects"),
            JSON,
        ),
    ),
    Command(
        ("orchestration",),
        "switch recipes on or off",
        "Off: no recipe starts, and active runs end after their turn. Kept over restarts. Without "
        "a word it says how they are.",
        "podium orchestration off",
        "commands.recipes:orchestration",
        (positional("on|off", "state", "the switch", choices=("on", "off"), optional=True), JSON),
    ),
)
