"""The words of spoken commands in the Romance languages; see ``spoken_words``."""

from __future__ import annotations

from typing import Final

from podiumd.core.spoken_words import Words

FRENCH: Final = Words(
    approve="approuver|approuvé|approuvée|approuve|approuvez|approuve-le|j'approuve|je l'approuve"
    "|autoriser|autorisé|autorisée|autorise|autorisez|autorise-le|j'autorise|je l'autorise"
    "|autoriser une fois|autorise une fois|autorise-le une fois|accepter|accepté|j'accepte"
    "|autorisation accordée",
    yes="oui|oui vas-y|vas-y|allez-y|oui allez-y",
    deny="refuser|refusé|refusée|refuse|refusez|refuse-le|je refuse|je le refuse|rejeter|rejeté"
    "|rejette|rejette-le|je rejette|interdire|interdit|ne pas autoriser|ne pas approuver"
    "|n'autorise pas|n'approuve pas|ne l'autorise pas|ne l'approuve pas|je n'autorise pas"
    "|je n'approuve pas|pas autorisé|pas approuvé|ne fais pas ça|ne le fais pas",
    no="non|non merci",
    confirm="confirmer|confirmé|confirme|confirmez|je confirme|je le confirme",
    stop="stop|arrête|arrêter|arrêtez|arrête-toi|arrêtez-vous|arrête tout|arrête ça|halte"
    "|interrompre|interromps",
    next="suivant|suivante|question suivante|le suivant|la suivante|la question suivante"
    "|la prochaine question|passer|passe à la suivante|passe cette question",
    repeat="répète|répéter|répétez|répète ça|répète la question|répétez la question|redis-le"
    "|redis ça|encore une fois|peux-tu répéter|pouvez-vous répéter|quelle était la question",
    always="toujours|toujours autoriser|autoriser toujours|autorise toujours|autorise-le toujours"
    "|toujours dans cette exécution",
    more="encore autant|la même chose encore une fois|prolonger|prolonge",
    retry="réessayer|réessaie|réessaye|réessayez|essaie encore|essaye encore|recommencer"
    "|recommence",
    go_on="continuer|continue|continuez",
    fillers="s'il te plaît|s'il vous plaît|merci|euh|hum|hm|bon|ben|bien|d'accord|ok|okay|alors"
    "|hé|podium|maintenant",
    nouns="option|numéro|choix|réponse|lettre|proposition|#",
    verbs="choisis|prends|je choisis|je prends|je veux|prenons",
    articles="le|la|l",
    ones="option|choix|réponse|proposition",
    numbers="un/une deux trois quatre cinq six sept huit neuf dix onze douze",
    ordinals="premier/première/1er/1ère deuxième/second/seconde/2e troisième/3e quatrième/4e"
    " cinquième/5e sixième/6e septième/7e huitième/8e neuvième/9e dixième/10e",
    last="dernier/dernière",
    articles_too="un/une",
)

SPANISH: Final = Words(
    approve="aprobar|aprobado|aprobada|apruebo|lo apruebo|la apruebo|apruébalo|apruébala"
    "|autorizar|autorizado|autorizada|autorizo|lo autorizo|autorízalo|permitir|permitido"
    "|permítelo|lo permito|permitir una vez|permítelo una vez|aceptar|aceptado|acepto|lo acepto"
    "|permiso concedido",
    yes="sí|sí adelante|adelante",
    deny="denegar|denegado|denegada|deniego|lo deniego|deniégalo|rechazar|rechazado|rechazada"
    "|lo rechazo|recházalo|no aprobar|no aprobado|no apruebo|no lo apruebo|no lo apruebes"
    "|no permitir|no permitido|no lo permito|no lo permitas|no autorizar|no autorizado"
    "|no autorizo|no lo autorizo|no lo autorices|no lo hagas",
    no="no|no gracias",
    confirm="confirmar|confirmado|confirmo|lo confirmo|confírmalo|confirma",
    stop="para|para ya|páralo|para todo|parar|detente|detener|detenlo|alto|basta|stop"
    "|interrumpe|interrumpir",
    next="siguiente|la siguiente|siguiente pregunta|la siguiente pregunta|pasa a la siguiente"
    "|saltar|sáltala|saltar esta pregunta",
    repeat="repite|repetir|repítelo|repítela|repite eso|repite la pregunta|otra vez"
    "|dilo otra vez|una vez más|puedes repetir|cuál era la pregunta",
    always="siempre|permitir siempre|siempre permitir|permítelo siempre|autorizar siempre"
    "|siempre en esta ejecución",
    more="más|lo mismo otra vez|ampliar|amplíalo|ampliar el límite",
    retry="reintentar|reintenta|inténtalo otra vez|inténtalo de nuevo|intentar de nuevo"
    "|intentar otra vez",
    go_on="continuar|continúa|continúe|sigue|seguir",
    fillers="por favor|gracias|muchas gracias|eh|em|hm|bueno|vale|ok|okay|bien|pues|oye|podium"
    "|ahora|entonces",
    nouns="opción|número|respuesta|letra|elección|#",
    verbs="elijo|escojo|elige|escoge|toma|tomo|quiero",
    articles="la|el|lo",
    ones="opción|respuesta|elección",
    numbers="uno/una dos tres cuatro cinco seis siete ocho nueve diez once doce",
    ordinals="primera/primero/primer segunda/segundo tercera/tercero/tercer cuarta/cuarto"
    " quinta/quinto sexta/sexto séptima/séptimo octava/octavo novena/noveno décima/décimo",
    last="última/último",
    articles_too="una",
)

ITALIAN: Final = Words(
    approve="approva|approvare|approvato|approvata|approvo|lo approvo|la approvo|approvalo"
    "|autorizza|autorizzare|autorizzato|autorizzo|lo autorizzo|autorizzalo|consenti|consentire"
    "|consentito|lo consento|consenti una volta|consentire una volta|accetta|accettare"
    "|accettato|accetto|lo accetto|permesso concesso",
    yes="sì|si|sì certo|sì procedi|procedi",
    deny="nega|negare|negato|lo nego|rifiuta|rifiutare|rifiutato|rifiutalo|lo rifiuto|respingi"
    "|respingere|respinto|respingilo|non approvare|non approvato|non approvo|non lo approvo"
    "|non approvarlo|non autorizzare|non autorizzato|non autorizzo|non lo autorizzo"
    "|non consentire|non consentito|non lo consento|non farlo",
    no="no|no grazie",
    confirm="conferma|confermare|confermo|confermato|lo confermo|confermalo",
    stop="ferma|fermati|fermare|fermalo|ferma tutto|basta|stop|alt|interrompi|interrompere"
    "|smettila",
    next="prossima|prossimo|la prossima|prossima domanda|la prossima domanda|successiva"
    "|successivo|domanda successiva|salta|saltala|salta questa domanda",
    repeat="ripeti|ripetere|ripetilo|ripeti la domanda|di nuovo|ancora una volta"
    "|dillo di nuovo|dillo ancora|puoi ripetere|qual era la domanda",
    always="sempre|consenti sempre|consentire sempre|sempre consentire|autorizza sempre"
    "|sempre in questa esecuzione",
    more="ancora|lo stesso ancora una volta|prolunga|prolungare|estendi|estendere",
    retry="riprova|riprovare|prova di nuovo|prova ancora|ritenta",
    go_on="continua|continuare|prosegui|proseguire|vai avanti",
    fillers="per favore|per piacere|grazie|ehm|eh|hm|beh|bene|va bene|ok|okay|allora|ehi|podium"
    "|adesso|ora",
    nouns="opzione|numero|scelta|risposta|lettera|#",
    verbs="scelgo|scegli|prendo|prendi|voglio",
    articles="la|il|lo|l",
    ones="opzione|scelta|risposta",
    numbers="uno/una due tre quattro cinque sei sette otto nove dieci undici dodici",
    ordinals="prima/primo seconda/secondo terza/terzo quarta/quarto quinta/quinto sesta/sesto"
    " settima/settimo ottava/ottavo nona/nono decima/decimo",
    last="ultima/ultimo",
    articles_too="una",
)

PORTUGUESE: Final = Words(
    approve="aprovar|aprovado|aprovada|aprovo|eu aprovo|aprova|aprove|autorizar|autorizado"
    "|autorizada|autorizo|eu autorizo|autoriza|autorize|permitir|permitido|permito|eu permito"
    "|permite|permita|permitir uma vez|permita uma vez|aceitar|aceito|eu aceito"
    "|permissão concedida",
    yes="sim|sim por favor|sim pode",
    deny="negar|negado|negada|eu nego|negue|recusar|recusado|recusada|recuso|eu recuso|recuse"
    "|rejeitar|rejeitado|rejeitada|rejeito|eu rejeito|rejeite|não aprovar|não aprovado"
    "|não aprovo|não aprove|não permitir|não permitido|não permito|não permita|não autorizar"
    "|não autorizado|não autorizo|não autorize|não faça isso|não faças isso",
    no="não|não obrigado|não obrigada",
    confirm="confirmar|confirmado|confirmo|eu confirmo|confirma|confirme",
    stop="pare|parar|para|para já|pare agora|pare tudo|chega|stop|interromper|interrompa"
    "|interrompe",
    next="próxima|próximo|a próxima|próxima pergunta|a próxima pergunta|pular|pule"
    "|pular esta pergunta|saltar",
    repeat="repete|repita|repetir|repete isso|repita isso|repete a pergunta|repita a pergunta"
    "|outra vez|de novo|mais uma vez|pode repetir|qual era a pergunta",
    always="sempre|permitir sempre|sempre permitir|autorizar sempre|permita sempre"
    "|sempre nesta execução",
    more="mais|mais do mesmo|prolongar|prolongue",
    retry="tentar de novo|tenta de novo|tente de novo|tentar novamente|tenta novamente"
    "|tente novamente",
    go_on="continuar|continua|continue|prosseguir|prossiga",
    fillers="por favor|obrigado|obrigada|hum|eh|hm|bem|bom|ok|okay|tá|tá bom|então|ei|podium|agora",
    nouns="opção|número|escolha|resposta|letra|#",
    verbs="escolho|escolha|escolhe|eu escolho|quero|eu quero",
    articles="a|o",
    ones="opção|escolha|resposta",
    numbers="um/uma dois/duas três quatro cinco seis sete oito nove dez onze doze",
    ordinals="primeira/primeiro segunda/segundo terceira/terceiro quarta/quarto quinta/quinto"
    " sexta/sexto sétima/sétimo oitava/oitavo nona/nono décima/décimo",
    last="última/último",
    articles_too="um/uma",
)
