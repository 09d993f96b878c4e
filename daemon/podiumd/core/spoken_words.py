"""The words of spoken commands, by language: the Germanic ones; the Romance ones stand beside.

A command is one of these phrases and nothing else but fillers, so a list holds what people say to
a machine that waits for an answer, and nothing that is a sentence of its own in a conversation.
"Okay", "sure" or "fine" alone are in no list: people say them to each other all day, and
transcribers write them where there was only noise.
"""

from __future__ import annotations

from typing import Final

import msgspec


class Words(msgspec.Struct, frozen=True, kw_only=True):
    """One language. A field holds phrases parted by ``|``, without punctuation.

    ``yes`` and ``no`` are answers where something was asked, and ordinary words where nothing
    was; ``approve`` and ``deny`` are commands at any time. ``numbers`` and ``ordinals`` are in
    order from one, the forms of one number parted by ``/``; ``last`` are the ordinals of the last
    one. ``articles_too`` are the numbers that are articles as well.
    """

    approve: str
    yes: str
    deny: str
    no: str
    confirm: str
    stop: str
    next: str
    repeat: str
    always: str
    more: str
    retry: str
    go_on: str
    fillers: str
    nouns: str
    verbs: str
    articles: str
    ones: str
    numbers: str
    ordinals: str
    last: str
    articles_too: str = ""


ENGLISH: Final = Words(
    approve="approve|approved|i approve|approve it|approve this|approve that|approve once"
    "|approve the request|i approve it|i approve this|i approve that|allow|allow it|allow this"
    "|allow that|allow once|allow it once|i allow it|i allow this|i allow that|approval granted"
    "|permission granted|approved it|approved this|approved that|allow ones|aprove|aproved",
    yes="yes|yes please|go ahead|yes go ahead",
    deny="deny|denied|deny it|deny this|deny that|i deny|i deny it|deny the request|reject"
    "|rejected|reject it|reject this|reject that|i reject it|refuse|refused|refuse it|i refuse"
    "|decline|declined|decline it|do not allow|do not allow it|do not allow this"
    "|do not allow that|don't allow|don't allow it|don't allow this|don't allow that"
    "|do not approve|do not approve it|do not approve this|do not approve that|don't approve"
    "|don't approve it|don't approve this|don't approve that|not approved|not allowed"
    "|don't do it|don't do that|do not do it|do not do that|permission denied",
    no="no|nope|no way",
    confirm="confirm|confirmed|i confirm|confirm it|confirm this|confirm that|i confirm it"
    "|i confirm this|i confirm that",
    stop="stop|stop it|stop that|stop this|stop now|stop everything|stop right now"
    "|stop the agent|stop working|halt|abort|interrupt",
    next="next|next one|next question|the next one|the next question|go to the next one"
    "|go to the next question|skip|skip it|skip this|skip that|skip this one|skip this question",
    repeat="repeat|repeat it|repeat this|repeat that|repeat the question|say again|say it again"
    "|say that again|say again please|read it again|read that again|read the question again"
    "|can you repeat that|could you repeat that|what was the question",
    always="always|always allow|always allow it|always allow this|always allow that"
    "|allow always|allow it always|always in this run|always allow in this run|always approve",
    more="more|the same again|same again|the same again once|extend|extend it|extend the limit"
    "|raise the limit",
    retry="retry|try again|try it again|send it again|send the prompt again"
    "|send the step's prompt again",
    go_on="continue|go on|carry on|accept what is there|accept what is there and go on"
    "|accept it and go on",
    fillers="please|thanks|thank you|um|uh|uhm|erm|er|hm|hmm|well|okay|ok|alright|all right|hey"
    "|podium|now|then",
    nouns="option|number|choice|answer|letter|item|#",
    verbs="choose|pick|select|take|use|i choose|i pick|i select|i take|i want|i'll take|go with"
    "|let's go with|i'd like",
    articles="the",
    ones="one|option|choice|answer|item",
    numbers="one two three four five six seven eight nine ten eleven twelve",
    ordinals="first/1st second/2nd third/3rd fourth/4th fifth/5th sixth/6th seventh/7th eighth/8th"
    " ninth/9th tenth/10th",
    last="last",
)

GERMAN: Final = Words(
    approve="genehmigen|genehmigt|genehmige|genehmige es|genehmige das|ich genehmige"
    "|ich genehmige es|ich genehmige das|genehmigung erteilt|erlauben|erlaubt|erlaube es"
    "|erlaube das|ich erlaube es|ich erlaube das|einmal erlauben|erlaube es einmal|zulassen"
    "|zugelassen|einmal zulassen|lass es zu|ich lasse es zu|freigeben|freigegeben|gib es frei"
    "|ich gebe es frei|zustimmen|ich stimme zu",
    yes="ja|jawohl|ja bitte|ja mach das",
    deny="ablehnen|abgelehnt|lehne ab|lehne es ab|lehne das ab|ich lehne ab|ich lehne es ab"
    "|ich lehne das ab|verweigern|verweigert|verweigere es|ich verweigere es|verbieten|verboten"
    "|nicht erlauben|nicht erlaubt|nicht genehmigen|nicht genehmigt|nicht freigeben"
    "|nicht zulassen|nicht zustimmen|erlaube es nicht|erlaube das nicht|genehmige es nicht"
    "|genehmige das nicht|tu das nicht|tu es nicht|mach das nicht|auf keinen fall",
    no="nein|nee|nein danke",
    confirm="bestätigen|bestätigt|bestätige|bestätige es|bestätige das|ich bestätige"
    "|ich bestätige es|ich bestätige das",
    stop="stopp|stop|halt|anhalten|halt an|abbrechen|abbruch|brich ab|brich das ab|hör auf"
    "|hör auf damit|aufhören|sofort aufhören|stopp sofort",
    next="nächste|nächster|nächstes|nächste frage|die nächste|die nächste frage|überspringen"
    "|überspring das|überspringe das|überspringe die frage",
    repeat="wiederholen|wiederhole|wiederhole das|wiederhole es|wiederhol das|wiederhole die frage"
    "|wiederhol die frage|noch mal|nochmal|noch einmal|sag das noch mal|sag das nochmal"
    "|sag das noch einmal|lies das noch mal|wie bitte|wie war die frage",
    always="immer|immer erlauben|immer genehmigen|immer zulassen|erlaube es immer"
    "|erlaube das immer|immer in diesem lauf|immer erlauben in diesem lauf",
    more="mehr|noch einmal so viel|noch mal so viel|verlängern|verlängere es",
    retry="noch mal versuchen|nochmal versuchen|noch einmal versuchen|erneut versuchen"
    "|versuch es noch mal|versuch es noch einmal|versuche es noch mal|versuche es noch einmal",
    go_on="weiter|weitermachen|mach weiter|fortfahren|fahre fort|fortsetzen",
    fillers="bitte|danke|danke schön|ähm|äh|hm|hmm|okay|ok|gut|na gut|also|hey|podium|jetzt|dann",
    nouns="option|nummer|antwort|wahl|möglichkeit|variante|buchstabe|#",
    verbs="nimm|wähle|nehme|ich nehme|ich wähle|ich möchte|ich will|wir nehmen",
    articles="die|der|das|den",
    ones="option|antwort|möglichkeit|variante|wahl",
    numbers="eins/eine zwei/zwo drei vier fünf sechs sieben acht neun zehn elf zwölf",
    ordinals="erste/ersten/erster/erstes zweite/zweiten/zweiter/zweites"
    " dritte/dritten/dritter/drittes vierte/vierten/vierter/viertes"
    " fünfte/fünften/fünfter/fünftes sechste/sechsten/sechster/sechstes"
    " siebte/siebten/siebter/siebtes achte/achten/achter/achtes neunte/neunten/neunter/neuntes"
    " zehnte/zehnten/zehnter/zehntes",
    last="letzte/letzten/letzter/letztes",
    articles_too="eine",
)

DUTCH: Final = Words(
    approve="goedkeuren|goedgekeurd|keur goed|keur het goed|keur dat goed|ik keur het goed"
    "|ik keur dat goed|toestaan|toegestaan|sta toe|sta het toe|sta dat toe|ik sta het toe"
    "|ik sta dat toe|eenmalig toestaan|een keer toestaan|sta het een keer toe",
    yes="ja|ja graag|jazeker|ja doe maar",
    deny="weigeren|geweigerd|weiger|weiger het|weiger dat|ik weiger|ik weiger het|afwijzen"
    "|afgewezen|wijs af|wijs het af|ik wijs het af|afkeuren|afgekeurd|ik keur het af"
    "|niet toestaan|niet toegestaan|sta het niet toe|niet goedkeuren|niet goedgekeurd"
    "|keur het niet goed|ik keur het niet goed|doe het niet|doe dat niet",
    no="nee|neen|nee bedankt|nee dank je",
    confirm="bevestigen|bevestigd|bevestig|bevestig het|bevestig dat|ik bevestig|ik bevestig het"
    "|ik bevestig dat",
    stop="stop|stop maar|stop nu|stop ermee|stoppen|halt|hou op|houd op|hou ermee op|afbreken"
    "|breek af|breek het af",
    next="volgende|de volgende|volgende vraag|de volgende vraag|overslaan|sla over|sla het over"
    "|sla dit over|sla deze over",
    repeat="herhaal|herhalen|herhaal het|herhaal dat|herhaal de vraag|nog een keer|nog eens"
    "|zeg het nog eens|zeg dat nog eens|zeg het nog een keer|zeg dat nog een keer"
    "|wat was de vraag",
    always="altijd|altijd toestaan|altijd goedkeuren|sta het altijd toe|sta dat altijd toe"
    "|altijd in deze run",
    more="meer|nog een keer zoveel|verlengen|verleng het",
    retry="probeer opnieuw|probeer het opnieuw|opnieuw proberen|probeer het nog eens|opnieuw",
    go_on="doorgaan|ga door|ga verder|verder|verdergaan",
    fillers="alsjeblieft|alstublieft|graag|bedankt|dank je|dank je wel|dank u|eh|uh|um|hm|hmm|nou"
    "|oké|oke|ok|okay|goed|hé|hey|podium|nu|dan",
    nouns="optie|nummer|antwoord|keuze|letter|mogelijkheid|#",
    verbs="kies|neem|ik kies|ik neem|ik wil|doe",
    articles="de|het",
    ones="optie|keuze|mogelijkheid|antwoord",
    numbers="een twee drie vier vijf zes zeven acht negen tien elf twaalf",
    ordinals="eerste tweede derde vierde vijfde zesde zevende achtste negende tiende",
    last="laatste",
    articles_too="een",
)
