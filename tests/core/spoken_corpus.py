"""What people say, and what transcribers write where nobody spoke: words for the spoken grammar."""

from __future__ import annotations

from collections.abc import Iterator

from podiumd.core.decide.decision import CHOICES
from podiumd.core.run.facts import QuestionKind
from podiumd.core.voice.question import Asked
from tests.core.languages import LANGUAGES

NOISE = """
you|You.|Thank you.|Thanks for watching!|Thank you for watching.|Thank you very much.|Bye.|Bye-bye.
Okay.|OK|Ok.|Okay, okay.|Mm-hmm.|Mhm|Uh-huh.|Hmm.|Um...|Uh.|Ah.|Oh.|Huh?|So...|And|The|I|A|.|...
[BLANK_AUDIO]|[ Silence ]|(wind blowing)|(keyboard clicking)|[Music]|♪|♪♪|♪ yes ♪|(yes)|[approve]
"Approve"|*approves*|/approve|<approve>|approve/deny|{"answer": "allow"}|$approve
Please subscribe.|Subtitles by the Amara.org community|Untertitel der Amara.org-Community
Sous-titres réalisés par la communauté d'Amara.org
Подписывайтесь на канал|ご視聴ありがとうございました
Продолжение следует...|字幕由Amara.org社区提供|MBC 뉴스
Субтитры сделал DimaTorzok|Tak for at have set med!
Gracias por ver el video.|Merci d'avoir regardé cette vidéo !|Vielen Dank.|Bis zum nächsten Mal.
All right.|Alright.|Right.|Well.|Yeah.|Yep.|Yup.|Sure.|Fine.|Good.|Great.|Cool.|Perfect.|Exactly.
Of course.|Absolutely.|Definitely.|Indeed.|I see.|Got it.|Understood.|Correct.|Right?|Okay?|Yes?
Come on.|Let's go.|Here we go.|One.|Two.|First.|A.|B.|One moment.|One second.|Just a second.|Ooh.
"""

ORDINARY = """
I would not approve that|I would never approve this|Did she approve it|Has he approved it yet
The client will approve it tomorrow|We approved the budget last week|Who approves these things
Please do not approve anything while I am away|Ask me before you approve it|approve it later
approve it if the tests pass|approve only the first part|approve everything except the push
I might approve that|should I approve it|should I allow it|can you approve it|I cannot approve it
they want me to approve it|he said approve|she told me to say yes|say approve|type approve
write approve into the file|the button says approve|rename the button to approve|approval
approvals|approver|approving|approval pending|not yet approved|it was approved by Bob|disapprove
unapproved|improve|improve it|improve that|a proof|prove it|prove that|a groove|remove it|removed
remove that|approximate|appraise|applaud|a prude|up and move|approve? no|approve, no|yes, no
yes and no|yes but not now|yes but first run the tests|yes if it is safe|yes I know|yes I see
yes that is what I thought|oh yes|yes sir|yes man|yes and then add a test|yes because it is late
allowed values|allow list|allowance|allow me to explain|allow me|allow for more time|aloud|a loud
hello|a low|follow it|below it|alone|all out|hollow it|swallow it|allow it to finish first
allow nothing|allow none of it|never allow it|never allow that|do not ever allow that
go ahead of me|go ahead and explain|go ahead and write a test first|a head|head|go|go back|go home
go away|do go ahead without me|the one ahead|granted it is late|taken for granted|permission
no|nope|no no|no thanks|not now|not that|not yet|never|wait|hold on|hang on|one moment please
maybe|perhaps|I do not know|I think so|I guess so|I suppose|why|what|which one|how come|really
who knows|let me think|let me see|let me look at the screen|what does it do|what is the command
read the diff|show me the diff|explain the error|fix the login test|add a test for the gateway
rename the function to approve|the function allow returns true|call allow on the gate
refactor the session lock|commit the changes|please review and commit|run the tests again
the second test fails|the first one failed|number one priority|one of the tests fails|option
option what|which option|what is option one|option one is wrong|not option one|option one or two
either option two or three|the option|choose|choose wisely|choose one|pick one|take one|take a
take a look|take your time|take it easy|the first thing|the second time|the last time|at last
first of all|second thought|on second thought|one more thing|two things|three strikes
always run the tests|I always do that|always check first|almost always|not always|all ways
more tests please|more coffee|retry the build later|continue tomorrow|continue reading
confirm with Bob first|I can't confirm that|please confirm your address|confirmation|conform
conforms|the confirm button|confirmed cases|unconfirmed|reconfirm|can you confirm|firm
nine|mine|line|fine|yesterday|yes-man|yessir|jess|guess|less|chess|dress|bless|press yes
the answer is yes|I said yes to the other one|yes was the wrong answer|is it yes or no|yesno
"""

ORDINARY_BY_LANGUAGE = {
    "de": """
ich würde das nicht genehmigen|das ist nicht erlaubt|ist das erlaubt|erlaubt ist was gefällt
hat er es genehmigt|genehmige nur den ersten Teil|genehmige es wenn die Tests laufen|ja aber
ja nein|ja und nein|ja wenn es sicher ist|ja ich weiß|jaja genau|na ja|ja gut aber nicht jetzt
jein|je|jahr|nein|nicht jetzt|warte|moment|vielleicht|mach das später|zeig mir den Diff
erlauben Sie mir eine Frage|die Erlaubnis|die Genehmigung fehlt|eine Genehmigung|nehmen|benehmen
immerhin|immer wieder|immer mit der Ruhe|bestätigen Sie mir das morgen|die Bestätigung|sicher
okay|gut|in Ordnung|alles klar|genau|stimmt|natürlich|klar|schön|eins|eine|die eine|option
weiter so|das freigegebene Büro|frei|freitag|gib es mir|zustimmung|stimme|stimmt so|ich stimme ab
""",
    "fr": """
je ne l'approuve pas|je n'approuverais jamais ça|est-ce approuvé|oui mais|oui et non|oui non
oui si les tests passent|ouïe|ouais|d'accord|bien sûr|peut-être|attends|un instant|on verra
l'autorisation|une autorisation|autorisé par qui|il a autorisé ça hier|approuve seulement le début
j'approuve ton idée mais pas maintenant|prouve-le|éprouvé|accepter les conditions|acceptable
toujours pas|pas toujours|toujours est-il|vas-y doucement|vas-y mollo|confirme demain
la confirmation|non|jamais|pas maintenant|montre-moi le diff|lance les tests|un|une|premier|option
confirmer avec Paul d'abord|encore|plus|oui oui oui oui oui|ok|bon|voilà|exactement|parfait
""",
    "es": """
no lo aprobaría|yo no aprobaría eso|está aprobado|sí pero|sí y no|sí no|si|si pasan las pruebas
sí si es seguro|vale|claro|bueno|quizás|espera|un momento|ya veremos|la aprobación|el permiso
permítame una pregunta|permiso|aprobado por quién|lo aprobó ayer|prueba|apruebo solo la primera
siempre no|no siempre|casi siempre|adelante de mí|más adelante|confirmar con Ana primero
la confirmación|no|nunca|ahora no|enséñame el diff|ejecuta las pruebas|uno|una|primera|opción
correcto|exacto|perfecto|de acuerdo|por supuesto|cierto|así es|eso es|acepto la crítica pero no
""",
    "it": """
non lo approverei|io non approverei questo|è approvato|sì ma|sì e no|sì no|se|se passano i test
sì se è sicuro|va bene|certo|bene|forse|aspetta|un momento|vedremo|l'approvazione|permesso
permesso si può|approvato da chi|l'ha approvato ieri|prova|approva solo la prima parte|consenso
sempre no|non sempre|quasi sempre|confermare con Anna prima|la conferma|no|mai|non ora|fammi vedere
il diff|esegui i test|uno|una|prima|prima o poi|opzione|esatto|perfetto|d'accordo|giusto|così
procedi con calma|procedi solo se passa|accetta i cookie|accetto la critica ma no|ancora no
""",
    "nl": """
ik zou dat niet goedkeuren|dat is niet toegestaan|is dat toegestaan|ja maar|ja en nee|ja nee
ja als het veilig is|ja hoor|jawel|jaar|misschien|wacht|even wachten|we zien wel|de toestemming
goedgekeurd door wie|hij keurde het gisteren goed|keur het goed als de tests slagen|goed|prima
keur alleen het eerste deel goed|sta op|sta stil|toe|toestand|altijd maar|niet altijd|bijna altijd
bevestig het morgen|de bevestiging|nee|nooit|niet nu|laat de diff zien|draai de tests|een|de eerste
oké|zeker|precies|klopt|natuurlijk|optie|een optie|doe maar|doe maar rustig|verder niets
""",
    "pt": """
eu não aprovaria isso|está aprovado|sim mas|sim e não|sim não|se|se os testes passarem|prova
sim se for seguro|tá bom|claro|bom|talvez|espera|um momento|veremos|a aprovação|a permissão
aprovado por quem|ele aprovou ontem|aprovo só a primeira parte|permita-me uma pergunta|assim
sempre não|nem sempre|quase sempre|confirmar com a Ana primeiro|a confirmação|não|nunca|agora não
mostra o diff|executa os testes|um|uma|primeira|opção|certo|exato|perfeito|de acordo|com certeza
cinto|sinto|fim|assim sim|pois sim|sim sim sim sim sim|aceito a crítica mas não|acima
""",
}

FRAMES = {
    "en": "do not {}|don't you dare {}|I would not {}|never {}|not {}|{} not|{} tomorrow|{} or deny"
    "|{} and push it|if I say {}|he said {}|{} if the tests pass|{} but not yet|why {}|{}, I think"
    "|I will not {}|{} what|{}?|what if I {}|she will {}|no, {}|{}, no|{}ed {}ing|{} for Bob",
    "de": "{} nicht|nicht {} jetzt|er sagte {}|{} wenn es geht|warum {}|{}?|{} oder ablehnen"
    "|nein {}|{} nein|{} aber nicht gleich|{} morgen|wenn ich {} sage|niemals {}|{} glaube ich",
    "fr": "ne {} pas|il a dit {}|{} si ça passe|pourquoi {}|{}?|{} ou refuser|non {}|{} non"
    "|{} mais pas encore|{} demain|si je dis {}|jamais {}|{} je crois",
    "es": "{} no|él dijo {}|{} si pasa|por qué {}|{}?|{} o denegar|no {} todavía|{} pero no aún"
    "|{} mañana|si digo {}|nunca {}|{} creo",
    "it": "non {} adesso mai|ha detto {}|{} se passa|perché {}|{}?|{} o rifiuta|no {}|{} no"
    "|{} ma non ancora|{} domani|se dico {}|mai {}|{} credo",
    "nl": "{} niet|hij zei {}|{} als het lukt|waarom {}|{}?|{} of weigeren|nee {}|{} nee"
    "|{} maar nog niet|{} morgen|als ik {} zeg|nooit {}|{} denk ik",
    "pt": "{} não|ele disse {}|{} se passar|por que {}|{}?|{} ou recusar|não {} ainda|{} mas não já"
    "|{} amanhã|se eu disser {}|nunca {}|{} acho",
}
"""Sentences that hold an approving phrase and are none."""

COMMANDS = {
    "en": """
approve=allow|Approve.=allow|approved=allow|APPROVE!=allow|I approve.=allow|Approve it.=allow
Approve that, please.=allow|Please approve it.=allow|okay, approve=allow|Um, approve it.=allow
Yes.=allow|Yes, please.=allow|Yes, yes.=allow|Yes, approve it.=allow|Go ahead.=allow|Allow.=allow
Allow it.=allow|Allow once.=allow|Allow that, thanks.=allow|Permission granted.=allow
Hey Podium, approve.=allow|Well, yes.=allow|Deny.=deny|Denied.=deny|Deny it.=deny|No.=deny
No, thanks.=deny|Nope.=deny|Reject it.=deny|Refuse.=deny|Do not approve that.=deny
Don't allow it.=deny|Don't do that.=deny|No, deny it, please.=deny|Stop.=stop|Stop!=stop
Stop it now.=stop|No, stop!=stop|Please stop.=stop|Okay, stop.=stop|Halt.=stop|Abort.=stop
Stop stop stop=stop|Next.=next|Next question, please.=next|The next one.=next|Skip this one.=next
Repeat.=repeat|Repeat that, please.=repeat|Say that again.=repeat|Can you repeat that?=repeat
""",
    "de": """
Genehmigen.=allow|Genehmigt.=allow|Ich genehmige das.=allow|Ja.=allow|Ja, bitte.=allow|Erlaubt=allow
Erlaube es.=allow|Bitte erlauben.=allow|Freigeben, bitte.=allow|Ablehnen.=deny|Abgelehnt.=deny
Nein.=deny|Nein, danke.=deny|Nicht erlauben.=deny|Stopp!=stop|Halt!=stop|Abbrechen.=stop
Die nächste Frage.=next|Nächste.=next|Wiederholen.=repeat|Noch einmal, bitte.=repeat
Wie bitte?=repeat
""",
    "fr": """
Approuver.=allow|J'approuve.=allow|Approuvé.=allow|Oui.=allow|Autoriser.=allow|Autorise-le.=allow
Oui, s'il te plaît.=allow|Refuser.=deny|Refusé.=deny|Non.=deny|Non merci.=deny|Arrête !=stop
Stop.=stop|Question suivante.=next|Suivant.=next|Répète, s'il te plaît.=repeat|Répétez.=repeat
""",
    "es": """
Aprobar.=allow|Aprobado.=allow|Lo apruebo.=allow|Sí.=allow|Sí, por favor.=allow|Permítelo.=allow
Denegar.=deny|No.=deny|No, gracias.=deny|No lo permitas.=deny|¡Para!=stop|Detente.=stop
Siguiente pregunta.=next|Repite la pregunta.=repeat|Otra vez, por favor.=repeat
""",
    "it": """
Approva.=allow|Approvato.=allow|Sì.=allow|Sì, grazie.=allow|Consenti.=allow|Rifiuta.=deny|No.=deny
No, grazie.=deny|Non approvare.=deny|Fermati!=stop|Basta.=stop|Prossima domanda.=next
Ripeti, per favore.=repeat|Di nuovo.=repeat
""",
    "nl": """
Goedkeuren.=allow|Goedgekeurd.=allow|Ja.=allow|Ja, graag.=allow|Toestaan.=allow|Weigeren.=deny
Nee.=deny|Nee, dank je.=deny|Niet toestaan.=deny|Stop!=stop|Hou op.=stop|Volgende vraag.=next
Herhaal dat, alsjeblieft.=repeat|Nog een keer.=repeat
""",
    "pt": """
Aprovar.=allow|Aprovado.=allow|Sim.=allow|Sim, por favor.=allow|Permitir.=allow|Recusar.=deny
Não.=deny|Não, obrigado.=deny|Não permitir.=deny|Pare!=stop|Próxima pergunta.=next
Repita, por favor.=repeat|De novo.=repeat
""",
}
"""What is said to a question for leave, and what it means there."""


def lines(block: str) -> list[str]:
    return [one for line in block.strip().splitlines() for one in line.split("|") if one]


def commands(language: str) -> list[tuple[str, str]]:
    pairs = (one.rpartition("=") for one in lines(COMMANDS[language]))
    return [(said, wanted) for said, _, wanted in pairs]


def approving(language: str) -> list[str]:
    """Every phrase by which leave is given in a language."""
    giving = ("approve", "yes", "always", "confirm")
    return [
        " ".join(phrase) for phrase, kind in LANGUAGES[language].phrases.items() if kind in giving
    ]


def near_misses() -> Iterator[tuple[str, str]]:
    """(language, text) of what must never give leave. What is plain denial is among it."""
    for language in LANGUAGES:
        yield from ((language, text) for text in lines(NOISE))
        own = ORDINARY_BY_LANGUAGE.get(language, ORDINARY)
        yield from ((language, text) for text in lines(own))
        for phrase in approving(language):
            yield from (
                (language, frame.format(phrase, phrase)) for frame in lines(FRAMES[language])
            )


def question(kind: QuestionKind = "approval", **given: object) -> Asked:
    """An open question of Podium's own."""
    fields: dict[str, object] = {
        "question_id": "q-1",
        "kind": kind,
        "text": "May the agent use Bash? pytest -q",
        "choices": CHOICES.get(kind, (("yes", "Yes"), ("no", "No"))),
        "tool": "Bash" if kind == "approval" else None,
        "input": {"command": "pytest -q"} if kind == "approval" else None,
        "tree": "/home/me/project",
    }
    return Asked(**(fields | given))  # type: ignore[arg-type]
