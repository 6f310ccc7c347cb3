"""Word classes of Spanish, German, Norwegian, Chinese and Thai: what `other_languages` reads with.

For each language: the little words that tell it, what rules a piece out (questions, today, moods, hedges,
suppositions, jobs, the past), the classes that count for it with their weights, and where a piece may begin.
"""

from __future__ import annotations

from typing import NamedTuple


class Tongue(NamedTuple):
    hints: str  # function words that tell the language
    no: str  # rules a piece out: questions, moods, today, hedges, suppositions, jobs, the past
    classes: dict[str, tuple[float, str]]
    cut: str  # where a new piece may begin


_ES = Tongue(
    hints=(
        r"el|la|los|las|de|que|y|en|un|una|mi|mis|por|con|para|es|soy|estoy|tengo|no|me|te|hola|"
        r"gracias|desde|pero|muy|al|del|lo|se|buenas|sí|hoy"
    ),
    no=(
        r"[¿?]|\b(?:perdí|fatal|fui|tuve|hice|hoy|ahora mismo|esta (?:mañana|tarde|noche|semana)|ayer|"
        r"anoche|mañana (?!por)|"
        r"de momento|cansad[oa]s?|cansancio|muert[oa] de|gripe|resfriad[oa]|me duele|dolor de|"
        r"enferm[oa]\b|"
        r"quizás?|tal vez|a lo mejor|puede que|no sé|igual (?:me|lo)|estoy pensando en|me lo pienso|"
        r"imagina|supongamos|si (?:tuviera|fuera|ganara|comprara)|antes (?:vivía|trabajaba|tenía)|"
        r"solía)\b|"
        r"^\W*(?:puedes|podrías|resume|traduce|busca|reserva|manda|envía|dime|explica|mira|ponme|haz|"
        r"gracias|hola|buenas|perfecto|vale|sí|no|nada|ok|genial)\b\W*(?:gracias|por favor)?\W*$|"
        r"^\W*(?:puedes|podrías|resume|resúmeme|traduce|búscame|resérvame|mándame|dime|explícame)\b"
    ),
    classes={
        "first": (
            1.8,
            (
                r"\b(?:soy|tengo|vivo|trabajo|gano|cobro|pago|ahorro|invierto|uso|utilizo|opero|llevo|estudio|"
                r"viajo|como|bebo|necesito|entreno|hablo|me llamo|nací|mando|envío|aporto|dirijo|doy|juego|"
                r"suelo|evito|arriesgo|compro|vendo|estoy (?:casad|solter|divorciad|jubilad|en paro|"
                r"embarazad)\w*|tenemos|vivimos|somos|pagamos|queremos|ahorramos|recojo|salgo|empiezo|termino|"
                r"cuido|debo|alquilo)\b"
            ),
        ),
        "mine": (1.1, r"\b(?:mi|mis|nuestr[oa]s?|nos)\b"),
        "kin": (
            1.0,
            (
                r"\b(?:mujer|esposa|marido|espos[oa]|pareja|novi[oa]|hij[oa]s?|madre|padre|padres|mamá|papá|"
                r"herman[oa]s?|suegr[oa]|abuel[oa]|jef[ea]|perr[oa]|gat[oa]|casad[oa]|solter[oa]|divorciad[oa]|"
                r"viud[oa])\b"
            ),
        ),
        "marital": (0.9, r"\b(?:casad[oa]|solter[oa]|divorciad[oa]|viud[oa])\b"),
        "theme": (
            1.2,
            (
                r"\b(?:euros|banco|horario|reuniones|cuenta|hipoteca|piso|casa|sueldo|salario|ahorros|fondos?|"
                r"pensión|bolsa|acciones|criptomonedas|deudas?|préstamo|alérgic[oa]|vegan[oa]|vegetarian[oa]|"
                r"celíac[oa]|diabétic[oa]|objetivo|meta|proyecto|equipo|riesgo|turno|coche|tren|vuelos?|gluten|"
                r"carne|café|seguro|jubila\w+|alquiler|enfermer[oa]|profesor[oa]?|médic[oa]|ingenier[oa])\b"
            ),
        ),
        "amount": (0.8, r"\d|\b(?:dos|tres|cuatro|cinco|seis|diez|veinte)\b"),
        "recurring": (
            1.0,
            (
                r"\b(?:cada|todos los|todas las|los (?:lunes|martes|miércoles|jueves|viernes|sábados|domingos)|"
                r"al (?:mes|año|día)|por (?:semana|la (?:tarde|mañana|noche))|mensual\w*|desde (?:hace|el|la|"
                r"\d)|normalmente|casi siempre)\b"
            ),
        ),
        "standing": (
            2.0,
            (
                r"\b(?:siempre|nunca|jamás|a partir de ahora|de ahora en adelante|nada de|en cuenta|"
                r"recuerda que|ya no)\b"
            ),
        ),
        "only": (1.3, r"\b(?:solo|sólo|únicamente|máximo|como mucho|solamente)\b"),
        "named": (1.0, r"\b(?:se llama|me llamo|llamad[oa])\b"),
        "style": (2.0, r"\b(?:háblame|hablame|respóndeme|responde|escríbeme|trátame|contéstame)\b"),
        "goal": (
            1.7,
            (
                r"\b(?:quiero|queremos|me gustaría|mi (?:objetivo|meta|sueño)|planeo|pienso (?:jubilarme|"
                r"comprar)|comprar (?:un|una)|jubilarme|ahorrar para)\b"
            ),
        ),
        "preference": (
            1.8,
            (
                r"\b(?:prefiero|me (?:gusta|encanta|da miedo|molesta)|no me gusta|odio|no (?:como|bebo|quiero|"
                r"uso|tengo|opero|invierto|trabajo|fumo))\b"
            ),
        ),
        "change": (
            1.6,
            (
                r"\b(?:me he mudado|nos hemos mudado|me mudé|he cambiado|he dejado|he empezado|ahora (?:vivo|"
                r"trabajo|uso))\b"
            ),
        ),
        "name": (0.3, r"(?<!^)\b[A-ZÁÉÍÓÚÑ][a-záéíóúñ]+"),
    },
    cut=(
        r",?\s+(?:y|pero|además)\s+(?=(?:que |no\s+)?(?:soy|tomo |tengo|vivo|trabajo|gano|pago|ahorro|prefiero|"
        r"quiero|uso|odio|mi |mis |nunca|siempre|me |no |estoy |pago |cotizo |los (?:lunes|martes|"
        r"miércoles|jueves|viernes|sábados|domingos) ))|,\s+(?=(?:soy|tengo|vivo|trabajo|gano|mi |mis |"
        r"nunca|siempre )\b)"
    ),
)
_DE = Tongue(
    hints=(
        r"der|die|das|und|ich|ist|nicht|ein|eine|mit|auf|für|zu|im|in|von|bei|mein|meine|bin|habe|wir|"
        r"sie|mir|mich|auch|aber|noch|guten|hallo|bitte|danke|ja|nein|kein|keine|moin|den|dem|heute|"
        r"immer"
    ),
    no=(
        r"\?\s*$|\b(?:heute|gerade eben|gestern|morgen (?:früh|abend)?(?=\b(?! von))|im moment|müde|"
        r"kaputt|krank|erkältet|kopfschmerzen|schlecht gelaunt|mieser?|vielleicht|eventuell|womöglich|"
        r"keine ahnung|weiß nicht|überlege|"
        r"erst (?:mal )?mit .* besprechen|mal sehen|könnte sein|angenommen|was wäre|"
        r"wenn ich .* (?:hätte|wäre|würde)|früher (?:war|habe|hatte)|damals|der markt|die börse)\b|"
        r"^\W*(?:kannst|könntest|können|könnten) (?:du|sie)\b(?!.*\bimmer\b)|^\W*(?:übersetz\w*|"
        r"such\w*|schick\w*|buch\w*|zeig\w*|erklär\w*)\b|"
        r"^\W*(?:guten (?:tag|morgen|abend)|hallo|danke|ok|ja|nein|alles klar|super|genau|bitte|hi|moin|tschüss)\W*$"
    ),
    classes={
        "first": (
            1.8,
            (
                r"\b(?:ich (?:bin|habe|arbeite|wohne|lebe|verdiene|spare|zahle|nutze|verwende|handle|esse|"
                r"trinke|fahre|fliege|mache|studiere|investiere|riskiere|besitze|hole|bringe|lerne|spreche|"
                r"führe|leite|heiße|brauche|rauche|trade)|(?:bin|habe|arbeite|wohne|verdiene|spare|zahle|"
                r"riskiere|handle) ich|wir (?:haben|wohnen|sind|leben|zahlen|sparen|wollen)|^(?:arbeite|wohne|"
                r"bin|habe)\b|ich (?!glaube|denke|hoffe|frage|meine|habe|finde|würde|hätte|wäre|danke|wünsche|"
                r"melde|rufe)[a-zäöü]+e\b|\b(?!glaube|denke|hoffe|frage|finde|würde|hätte|"
                r"wäre)[a-zäöü]+e ich\b)"
            ),
        ),
        "mine": (1.1, r"\b(?:mein\w*|unser\w*|uns|mir)\b"),
        "kin": (
            1.3,
            (
                r"\b(?:frau|mann|partner(?:in)?|freundin|freund|tochter|töchter|sohn|söhne|kind(?:er)?|mutter|"
                r"vater|eltern|bruder|schwester|oma|opa|hund|katze|chef(?:in)?|verheiratet|ledig|geschieden|"
                r"verwitwet|getrennt)\b"
            ),
        ),
        "marital": (0.9, r"\b(?:verheiratet|ledig|geschieden|verwitwet)\b"),
        "theme": (
            1.2,
            (
                r"\b(?:depot\w*|verlust\w*|sparbuch|konto|tagesgeld|\w*geld|euro|riester|rürup|rente|pension|\w*haus|"
                r"\w*wohnung|miete|kredit|restschuld|schulden|zinsbindung|hypothek|gehalt|netto|brutto|etf|"
                r"aktien|fonds|versicherung|ziel|risiko|trade|tagebuch|beamt\w+|lehrer\w*|arzt|ärztin|"
                r"ingenieur\w*|entwickler\w*|\w+entwickler\w*|allergi\w*|allergisch|vegan\w*|vegetari\w*|"
                r"glutenfrei|laktose\w*|projekt|besprechungen|termine|meetings|dax|msci|sparplan|"
                r"\w+versicherung|excel)\b"
            ),
        ),
        "amount": (0.8, r"\d"),
        "recurring": (
            1.0,
            (
                r"\b(?:jeden?|jedes|immer (?:am|um)|montags|dienstags|mittwochs|donnerstags|freitags|samstags|"
                r"sonntags|morgens|abends|pro (?:monat|jahr|woche|trade|tag)|im (?:monat|jahr)|monatlich|"
                r"jährlich|wöchentlich|täglich|seit|meistens|normalerweise|läuft)\b"
            ),
        ),
        "standing": (
            2.0,
            (
                r"\b(?:immer|nie|niemals|ab (?:sofort|jetzt)|künftig|in zukunft|grundsätzlich|nicht mehr|"
                r"per (?:sie|du)|auf deutsch)\b"
            ),
        ),
        "only": (1.3, r"\b(?:höchstens|maximal|mindestens|nur|ausschließlich)\b"),
        "named": (1.0, r"\b(?:heißt|heiße|namens)\b"),
        "style": (2.0, r"^(?:bitte )?(?:antworte\w*|schreib\w*|sprich|duz\w*|siez\w*)\b"),
        "goal": (
            1.7,
            (
                r"\b(?:ich (?:will|möchte)|wir (?:wollen|möchten)|mein ziel|ziel ist|(?:mit|bis) \d\d (?:in|"
                r"im)|in (?:rente|pension)|soll .* (?:abbezahlt|fertig)|plane|sparen für)\b"
            ),
        ),
        "preference": (
            1.8,
            (
                r"\b(?:bevorzuge|mag (?:kein\w*|nicht)?|lieber|hasse|am liebsten|kein\w* (?:schulden|fleisch|"
                r"alkohol|krypto\w*|aktien|kinder|einzelaktien|termine)|antworten sie|antworte)\b"
            ),
        ),
        "change": (
            1.6,
            r"\b(?:umgezogen|gewechselt|gekündigt|aufgehört|angefangen|wohne jetzt|neuer job|inzwischen)\b",
        ),
        "name": (0.3, r"\b(?:in|bei|mit|aus|bei der) [A-ZÄÖÜ]\w+"),
    },
    cut=(
        r",?\s+(?:und|aber|außerdem)\s+(?=(?:[a-zäöü]+e (?:deshalb|nur|auch|in|als|bei|immer|mit|jeden|"
        r"keine?n?)|ich (?!sind|wollen|haben|wohnen|leben)|wir|wollen|möchten|"
        r"mein\w*|bis|arbeite|wohne|verdiene|habe|bin|nie|immer|kein\w*)\b)|,\s+(?=(?:dazu|verheiratet|"
        r"ledig|geschieden|außerdem|mein\w*|ich|kein\w*|nie)\b)"
    ),
)
_NB = Tongue(
    hints=(
        r"jeg|og|er|ikke|på|en|et|det|som|for|med|til|av|har|min|mitt|mine|vi|så|kan|skal|hei|takk|ja|"
        r"nei|hver|bare|å|fra|i|du|meg|om|men|den|kun|aldri"
    ),
    no=(
        r"\?\s*$|\b(?:i dag|nå nettopp|i går|i morgen|i kveld|akkurat nå|sliten|pumpa|trøtt|syk|"
        r"forkjøla|forkjølet|vondt i|hodepine|dårlig i dag|kanskje|muligens|vet ikke|usikker|vurderer|"
        r"tenker på å|gidder|"
        r"hva om|hvis jeg (?:vant|hadde|var)|tenk om|før i tiden|pleide å|markedet|børsen (?:er|faller|stiger))\b|"
        r"^\W*(?:kan|kunne) du\b(?!.*\balltid\b)|^\W*(?:oversett|finn|send|bestill|vis|forklar|sjekk)\b|"
        r"^\W*(?:hei|takk|ok|ja|nei|fint|supert|greit|den er grei|nei,? (?:aldri|takk)|ja,? fast)\W*$"
    ),
    classes={
        "first": (
            1.8,
            (
                r"\b(?:jeg (?:er|har|bor|jobber|arbeider|tjener|sparer|betaler|bruker|handler|henter|leverer|"
                r"spiser|drikker|trener|studerer|eier|leier|kjører|flyr|liker|leder|heter|trader|investerer|"
                r"risikerer|spiller|synger|pleier)|(?:har|er|bor|jobber|handler|henter) jeg|vi (?:har|bor|er|"
                r"leier|eier|sparer|betaler)|^(?:jobber|bor|handler|har)\b|jeg (?!tror|vet|håper|lurer|tenker|"
                r"ser|føler|mener|er|har|var|ber)[a-zæøå]+r\b)"
            ),
        ),
        "mine": (1.1, r"\b(?:min|mitt|mine|vår|vårt|våre)\b"),
        "kin": (
            1.3,
            (
                r"\b(?:kon[ea]|kona|mann(?:en)?|samboer(?:en)?|kjæreste(?:n)?|sønn(?:en)?|datter(?:en)?|"
                r"barn(?:a)?|unge(?:ne|r)?|mor|mamma|far|pappa|foreldre\w*|bror|søster|hund(?:en)?|katt(?:en)?|"
                r"sjef(?:en)?|gift|skilt|singel|enslig)\b"
            ),
        ),
        "marital": (0.9, r"\b(?:gift|skilt|singel|enslig)\b"),
        "theme": (
            1.2,
            (
                r"\b(?:lån\w*|stopp|prosent|\w*aksjer|boliglån\w*|bolig|hus|leilighet|hytte|lønn|sparing|fond|aksjer|"
                r"aksje|pensjon|konto|gjeld|risiko|handel|posisjoner|giring|møter|avtaler|jobb|hjemmefra|"
                r"prosjekt|barnehage\w*|skole\w*|kor|trening fast|allerg\w*|\w+allergi|veganer|vegetarianer|"
                r"gluten\w*|mål|kroner|offshore|turnus|bil|tog|fly)\b"
            ),
        ),
        "amount": (0.8, r"\d|\b(?:to|tre|fire|fem|seks|sju|åtte|ni|ti|elleve|tolv)\b"),
        "recurring": (
            1.0,
            (
                r"\b(?:hver|hvert|mandager|tirsdager|onsdager|torsdager|fredager|lørdager|søndager|"
                r"per (?:måned|uke|handel|år)|i måneden|i året|i uka|fast|vanligvis|som regel|siden|daglig|"
                r"ukentlig|månedlig)\b"
            ),
        ),
        "standing": (
            2.0,
            (
                r"\b(?:alltid|aldri|fra nå av|heretter|ingenting (?:etter|før)|ikke noe (?:etter|før)|"
                r"husk (?:det|at)|ikke lenger|må alt|på (?:norsk|nynorsk|bokmål))\b"
            ),
        ),
        "only": (1.3, r"\b(?:maks|høyst|bare|kun)\b"),
        "named": (1.0, r"\b(?:heter|som heter)\b"),
        "style": (2.0, r"^(?:og )?(?:skriv|svar|snakk)\b.*\b(?:på|kort|meg)\b"),
        "goal": (
            1.7,
            (
                r"\b(?:jeg (?:vil|ønsker|skal kjøpe|planlegger)|vi (?:vil|ønsker|skal kjøpe)|målet mitt|"
                r"mål(?:et)? er|pensjonere meg|gå av (?:med pensjon)?|spare til)\b"
            ),
        ),
        "preference": (
            1.8,
            (
                r"\b(?:(?:tør|vil|liker|kan|spiser|drikker|bruker|handler) (?:jeg|vi) ikke|foretrekker|"
                r"liker ikke|hater|helst|jeg liker|spiser ikke|drikker ikke|vil ikke|"
                r"ikke interessert)\b"
            ),
        ),
        "change": (1.6, r"\b(?:flyttet|byttet|sluttet|begynt|ny jobb|nå bor)\b"),
        "name": (0.3, r"(?<!^)\b[A-ZÆØÅ][a-zæøå]+"),
    },
    cut=(
        r",?\s+(?:og|men)\s+(?=(?:jeg|vi|kun|bare|aldri|alltid|min|jobber|bor|har|maks)\b)|"
        r",\s+(?=(?:jeg|aldri|maks|gift|min)\b)"
    ),
)
_ZH = Tongue(
    hints="",
    no=(
        r"[？?]|吗|呢$|什么|怎么|为什么|多少钱|今天|昨天|刚才|刚刚|明天|现在(?:有点|很|正)|心情|有点累|很累|累了|行情|天气|下次|先这样|头疼|感冒|生病|"
        r"可能|也许|或许|说不定|考虑|再说|还没想好|如果|假如|要是|假设|以前|曾经|过去|原来|亏怕|据说|听说|^(?:你好|您好|谢谢|好的|嗯|是的|对|不用|不用了|再见|"
        r"好)[。！!]?$|^请?帮我|翻译|总结一下|我想(?:问|整理|了解|请|知道|咨询|聊)"
    ),
    classes={
        "first": (0.8, r"我|我们|本人"),
        "work": (
            2.0,
            (
                r"在.{1,8}(?:做|当|工作|上班|教|读书|上学)|是.{0,4}(?:医生|护士|老师|教师|工程师|程序员|律师|会计|学生|设计师|司机|厨师|经理|公务员)|退休了|"
                r"自由职业|职业是"
            ),
        ),
        "home": (2.0, r"住在|住的是|来自|老家|出生|搬到|搬家|定居"),
        "age": (1.6, r"\d+岁"),
        "marital": (2.0, r"已婚|单身|离婚|未婚|丧偶|结婚"),
        "kin": (
            0.9,
            r"妻子|老婆|太太|丈夫|老公|先生|女儿|儿子|孩子|妈妈?|爸爸?|母亲|父亲|父母|哥哥|姐姐|弟弟|妹妹|女朋友|男朋友|老板|上司|狗|猫",
        ),
        "named": (1.0, r"叫|名字是"),
        "theme": (
            1.2,
            (
                r"期权|期货|美股|港股|A股|外汇|加密|黄金|财报|平仓|亏损|盈透|月薪|年薪|工资|收入|房贷|贷款|存款|储蓄|基金|股票|个股|ETF|定投|投资|攒|存|保险|房租|预算|"
                r"账户|券商|仓位|止损|交易|炒|风险|退休|会议|时区|项目"
            ),
        ),
        "amount": (
            0.9,
            r"\d|[一二两三四五六七八九十百千万]+(?:万|千|百|块|元|美元|年|个月|点)?(?:万|元|年|月|点|块|个)",
        ),
        "recurring": (
            1.1,
            r"每(?:个)?(?:天|周|月|年|日|次|星期)|固定|通常|一般|平时|经常|一直|习惯|主要|专门|周[一二三四五六日末]",
        ),
        "standing": (
            1.5,
            r"总是|永远|从不|从来不|绝不|一定|以后都|以后请|不要|别(?!人)|只(?:做|买|用|吃|交易|看|投)|最多|不超过|上限|请用|请一直|每次都",
        ),
        "goal": (1.5, r"想(?:在|要|买|存|去|换|给)|打算|计划|目标|希望|梦想|准备(?:买|在|退休|换)|年内"),
        "preference": (
            1.6,
            r"不(?:看|接|熬|开|喜欢|炒|吃|喝|买|做|碰|投|用|抽|想投|接受)|喜欢|讨厌|偏好|宁愿|更愿意|没有(?:孩子|贷款|负债|存款|保险)|不能吃",
        ),
        "health": (2.0, r"过敏|糖尿病|高血压|素食|吃素|怀孕|不耐受|哮喘|忌口"),
        "latin": (0.4, r"[A-Za-z]{3,}"),
    },
    cut=r"[，,；;]|\s{2,}",
)
_TH = Tongue(
    hints="",
    no=(
        r"[?？]|ไหม|มั้ย|หรือเปล่า|หรือยัง|เท่าไหร่|เท่าไร|อะไร|ยังไง|อย่างไร|ทำไม|เมื่อไหร่|วันนี้|"
        r"เมื่อวาน|พรุ่งนี้|เมื่อกี้|คืนนี้|เช้านี้|เหนื่อย|หงุดหงิด|ง่วง|ปวดหัว|ไม่สบาย|เซ็ง|"
        r"ตลาด(?:แดง|เขียว|ขึ้น|ลง)|อาจ(?:จะ)?|บางที|ไม่แน่ใจ|คงจะ|ถ้า(?:ผม|ฉัน|เรา)?(?:มี|ถูก|ได้)|"
        r"สมมติ|เมื่อก่อน|เคย|^(?:สวัสดี|ขอบคุณ|โอเค|ครับ|ค่ะ|ได้ครับ|ได้ค่ะ|ไม่เอา|ไม่เป็นไร|"
        r"แต่ไม่เป็นไร)|ช่วย.*หน่อย|แปล|สรุป"
    ),
    classes={
        "first": (0.8, r"ผม|ดิฉัน|ฉัน|เรา|หนู"),
        "work": (
            1.8,
            (
                r"ทำงาน|เข้าเวร|เข้ากะ|สอน|เรียน|เป็น(?:หมอ|ครู|พยาบาล|วิศวกร|โปรแกรมเมอร์|พนักงาน|นักบัญชี|"
                r"ทนาย|นักศึกษา|แม่บ้าน|ข้าราชการ|ฟรีแลนซ์|เจ้าของ)|อาชีพ|เปิดร้าน"
            ),
        ),
        "home": (1.8, r"อาศัยอยู่|อยู่ที่|อยู่(?:กรุงเทพ|เชียงใหม่|ภูเก็ต)|บ้านอยู่|ย้ายไป|ย้ายมา|มาจาก"),
        "kin": (1.0, r"ภรรยา|สามี|แฟน|ลูกสาว|ลูกชาย|ลูก|แม่|พ่อ|พี่|น้อง|แต่งงาน|โสด|หย่า|หมา|แมว|เจ้านาย|หัวหน้า"),
        "named": (1.0, r"ชื่อ"),
        "theme": (
            1.2,
            (
                r"เทรด|หุ้น|พอร์ต|โบรก|ทอง|กองทุน|เงินเดือน|รายได้|ลงทุน|ออม|เก็บเงิน|เกษียณ|ผ่อน|หนี้|เงินกู้|"
                r"ประกัน|ขาดทุน|เสี่ยง|ไม้|คริปโต|ประชุม|โปรเจกต์|บัญชี"
            ),
        ),
        "amount": (0.9, r"\d|(?:หนึ่ง|สอง|สาม|สี่|ห้า|หก|เจ็ด|แปด|เก้า|สิบ)(?:ทุ่ม|โมง|ปี|คน|ไม้|ครั้ง|ตัว)"),
        "time": (2.0, r"ช่วง|ทุ่ม|โมงเช้า|หัวค่ำ|ตอนเช้า|ตอนเย็น|เวลาไทย"),
        "recurring": (
            1.1,
            (
                r"ทุก(?:วัน|เดือน|สัปดาห์|อาทิตย์|ปี|คืน|เช้า|ครั้ง)?|ต่อ(?:เดือน|วัน|ไม้|ปี)|ละ|เป็นประจำ|"
                r"ปกติ|วัน(?:จันทร์|อังคาร|พุธ|พฤหัส|ศุกร์|เสาร์|อาทิตย์)"
            ),
        ),
        "standing": (1.3, r"เสมอ|ตลอด|ไม่เกิน|เท่านั้น|อย่างเดียว|เป็นหลัก|ห้าม|อย่า|สูงสุด|ขอให้|ทุกครั้ง|แค่"),
        "style": (2.0, r"ตอบ(?:เป็น|ภาษา|สั้น|กลับ)"),
        "goal": (1.6, r"อยาก|เป้าหมาย|ตั้งใจ|วางแผน|ต้องการ|ฝันว่า"),
        "preference": (1.6, r"ชอบ|ไม่ชอบ|เกลียด|ไม่(?:กิน|ดื่ม|เล่น|ถือ|เทรด|ลงทุน|สูบ|ใช้|มีหนี้)|ถนัด"),
        "health": (2.0, r"แพ้|เบาหวาน|ความดัน|มังสวิรัติ|กินเจ|วีแกน|ตั้งครรภ์|ท้อง(?:อยู่|ได้)"),
        "latin": (0.9, r"[A-Za-z]{3,}"),
    },
    cut=r"\s+",
)
TONGUES = {"es": _ES, "de": _DE, "nb": _NB, "zh": _ZH, "th": _TH}
