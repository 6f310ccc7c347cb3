"""English word classes: the vocabulary that the rules of the other modules are made of.

Classes are broad on purpose (kin, roles, money, trading, work, health, travel, moods, change verbs…):
a rule speaks of a class, never of one sentence. Each name is the inside of a regular expression.
"""

from __future__ import annotations

KIN = (
    r"wife|husband|hubby|spouse|partner|fianc[ée]e?|girlfriend|boyfriend|gf|bf|son|daughter|kids?|"
    r"child|children|twins?|"
    r"family|mother|mom|mum|mummy|mam|father|dad|parents?|folks|brother|sister|siblings?|step-?(?:son|"
    r"daughter|mother|father|mum|dad)|"
    r"grand(?:ma|pa|mother|father|son|daughter|kids?|child|children|parents?)|nan|gran|granny|"
    r"niece|nephew|nieces|nephews|"
    r"aunt|auntie|uncle|cousins?|in-laws|(?:mother|father|sister|brother|son|daughter)[ -]in[ -]law|"
    r"ex(?:-(?:wife|husband|partner))?|ex|baby|toddler|boys|girls|eldest|oldest|youngest|"
    r"middle one|older one|younger one|little one|big one"
)
ROLE = (
    r"boss|manager|line manager|supervisor|director|team lead|pa|assistant|deputy|secretary|"
    r"accountant|bookkeeper|lawyer|solicitor|"
    r"attorney|doctor|gp|physician|dentist|therapist|physio|psychologist|coach|trainer|teacher|"
    r"tutor|mentor|landlord|landlady|"
    r"tenant|editor|agent|publisher|nanny|babysitter|childminder|cleaner|gardener|vet|business partner|co-?founder|"
    r"accountability (?:partner|buddy)|client|customer|supplier|contact|tax advis[eo]r|advis[eo]r|"
    r"broker|banker|executor|"
    r"beneficiary|guardian|emergency contact|caregiver|carer|nurse|housekeeper|au pair|intern|team|godson|goddaughter"
)
PET = r"dog|cat|puppy|kitten|horse|pony|rabbit|parrot|hamster|pet|pets|dogs|cats"
LOOSE = (
    r"friend|mate|buddy|pal|neighbou?r|colleague|co-?worker|roommate|flatmate|housemate|classmate|"
    r"guy|bloke|dude|chap|"
    r"acquaintance|someone|somebody|brother[ -]in[ -]law|uncle|aunt|cousin|follower|stranger"
)
MONEY = (
    r"pension|ira|401\(?k\)?|roth|hsa|isa|lisa|sipp|prsa|super|superannuation|mortgage|loan|debts?|"
    r"rent|rents|salary|income|wage|"
    r"savings?|saver|account|portfolio|funds?|etfs?|bonds?|shares?|stocks?|equit\w+|dividends?|"
    r"insurance|policy|premium|deposit|"
    r"budget|spend(?:ing)?|expenses|broker(?:age)?|emergency|credit cards?|crypto\w*|bitcoin|gold|"
    r"options|futures|property|properties|"
    r"flats?|house|apartment|home|cottage|land|tax(?:es)?|inheritance|trust|annuity|payday|"
    r"paycheck|bonus|pay ?rise|raise|"
    r"allowance|alimony|child support|tuition|college|university|uni|retire\w*|capital|cash|money|"
    r"benefits?|medicare|medicaid|"
    r"household|net worth|remainder|tithe|charity|donat\w+|rental|lettings?|lease|overdraft|"
    r"commodit\w+|outstanding|ow(?:e|ed|ing)|variable|fixed|interest|apr|cover|will\b(?= drawn|,)|"
    r"godchildren|estate|risk tolerance|volatil\w+"
)
TRADING = (
    r"instruments?|underlyings?|risk|stops?|targets?|set-?ups?|session|contracts?|lots?|positions?|"
    r"pairs?|time-?frames?|drawdown|leverage\w*|entr(?:y|ies)|"
    r"scalp\w*|swing|day[ -]?trad\w+|trad(?:e|es|er|ing)|prop|challenge|funded|journal\w*|playbook|"
    r"rules?|limit|cap|max(?:imum)?|lev|"
    r"loss(?:es)?|losing|winners?|losers?|earnings|overnight|charts?|breakouts?|pullbacks?|"
    r"spreads?|size|sizing|stake|stakes|"
    r"tickers?|watchlist|small caps?|large caps?|biotech|semis|forex|fx|nasdaq|spx|es|mes|nq|mnq|"
    r"dax|ftse|xau\w*|[a-z]{3}/?(?:usd|jpy|eur|gbp)|"
    r"atr|vwap strategy|pips|ticks|average down|averaging|margin|withdraw\w*|payouts?|pre-?market|"
    r"signals?|pit hours|hold(?:s|ing)?"
)
WORK = (
    r"projects?|deadline|due|manuscript|book|launch\w*|release[sd]?|team|stand-?up|meetings?|"
    r"calls?|office|clients?|deploy\w*|repo|"
    r"stack|pipeline|shell|laptop|editor|tool(?:s|ing)?|workflow|sprint|1:1|one[- ]on[- ]one|shift|"
    r"nights|hours|schedule|"
    r"calendar|appointments?|receipts|invoices?|expenses|platform|rewrite|migration|thesis|"
    r"dissertation|course|degree|exam|"
    r"certification|business|company|firm|shop|studio|bakery|practice|restaurant|start-?up|farm|"
    r"agency|school|nursery|ci|code|"
    r"commit messages?|snippets?|framework|database|language"
)
HEALTH = (
    r"allerg\w+|intoleran\w+|vegan|vegetarian|pescatarian|coeliac|celiac|diabet\w+|asthma\w*|"
    r"medication|insulin|pregnan\w+|gluten|"
    r"lactose|dairy|meat|pork|alcohol|sober|smok(?:e|es|er|ing)|halal|kosher|keto|fasting|"
    r"epilep\w+|adhd|dyslexi\w+|autis\w+|"
    r"wheelchair|deaf|hearing aid|blood pressure|blood type|nuts?|peanuts?|shellfish|caffeine|"
    r"coffee|diet|pacemaker|arthritis|colou?r-?blind"
)
TRAVEL = (
    r"aisle|window seat|seats?|layovers?|stop-?overs?|flights?|fly|trains?|miles|frequent flyer|"
    r"hotels?|rooms?|floor|cabin|lounge|"
    r"car|bike|cycle|commute|passport|airline|luggage|drive|licen[cs]e"
)
LIFE = (
    r"together|tied the knot|dating|birthday|anniversary|wedding|married|single|divorced|"
    r"widow(?:ed|er)?|separated|engaged|timezone|time zone|pronouns|nickname|"
    r"religion|church|mosque|native|citizen\w*|visa|hobb(?:y|ies)|gym|yoga|choir|football|band|"
    r"bouldering|running|marathon|garden|"
    r"bins|address|phone|school run|drop-?off|pick-?up|routine|bedtime|siesta|volunteer\w*|"
    r"retirement|goal|aim|dream|plan"
)
STYLE = (
    r"repl(?:y|ies)|answers?|responses?|messages|bullets?|bullet points|emojis?|jargon|spelling|"
    r"tone|formal\w*|informal|casual|lines|"
    r"concise|brief|brutal|blunt\w*|honest\w*|direct|sugar ?coat\w*|short|shorter|long|metric|"
    r"imperial|units|celsius|fahrenheit|"
    r"plain english|english|german|spanish|french|tables?|summar(?:y|ies)|sources?|citations?|"
    r"code examples?|snippets?|examples?|"
    r"numbers|reasons?|percentages?|options|step by step|essays?|compliments?|praise|flattery|"
    r"pleasantries|small talk|disclaimers?|"
    r"caveats?|exclamation marks?|headings?|markdown|paragraphs?|sentences|words|explanations?|"
    r"details?|24[- ]?hour|dates|times|"
    r"first name|nickname|pronouns|humou?r|jokes|analog(?:y|ies)|metaphors?|feedback|"
    r"commit messages?|acronyms|abbreviations"
)
JOB = (
    r"(?:\w+\s){0,2}(?:\w+(?:er|or|ist|ian|ant|ent|eer|ician|man|woman|ess|ee|ive)|nurse|chef|cook|"
    r"pilot|gp|doctor|vet|clerk|coach|partner|"
    r"student|freelance\w*|self-employed|retired|unemployed|contractor|paramedic|midwife|judge|"
    r"guide|host|artist|plumber|"
    r"lead|head|founder|ceo|cto|cfo|owner|army|navy|police|civil servant|apprentice|trainee|scalper|trader)"
)
MOOD = (
    r"tired|exhausted|knackered|shattered|wrecked|drained|sleepy|hungry|starving|thirsty|"
    r"hung-?over|drunk|annoyed|angry|mad|furious|"
    r"happy|glad|sad|down|upset|bored|frustrated|stressed|anxious right|nervous|excited|pumped|"
    r"stoked|thrilled|disappointed|"
    r"embarrassed|ashamed|jealous|cocky|lucky|unlucky|sick|ill|unwell|poorly|feverish|dizzy|sore|"
    r"cold|hot|freezing|sweating|"
    r"fine|ok|okay|good|great|well|alright|meh|sorry|sure|unsure|curious|confused|lost|stuck|late|"
    r"early|busy|free|ready|done|back|here|"
    r"home|away|off|out|in|up|flat|long|short|gone|kidding|joking|serious|afraid so|impressed|"
    r"surprised|worried|dead|toast|cooked"
)
BODY = (
    r"headache|migraine|hurts?|aches?|aching|cough|flu|fever|hangover|toothache|tooth|slept|"
    r"insomnia last|feeling|feel like|feels like|"
    r"weather|rain\w*|sunny|snow\w*|traffic|umbrella|battery|dishes|laundry|lunch|snack|nap"
)
MARKET = (
    r"market'?s?|markets|index|indices|fed|ecb|boe|cpi|nfp|opec|fomc|powell|lagarde|yields?|dollar|"
    r"dxy|spread|vwap|volume|futures|"
    r"gold|silver|oil|natgas|[a-z]{3}(?:usd|jpy|eur|gbp)|stocks|crypto|bitcoin|btc|nasdaq|dax|spx|"
    r"bulls?|bears?|everyone|dot plot|inflation|print|earnings season"
)
MENTAL = (
    r"find (?:it|that|this|them)|think|guess|reckon|mean|know|see|hope|wonder|feel|suppose|believe|"
    r"remember|figure|bet|doubt|"
    r"assume|understand|agree|promise|"
    r"thank|appreciate|hear|say|said|get|got|wish|imagine|forget|swear|admit|confess|apologi[sz]e|"
    r"mind|care|expect|fear|notice|"
    r"look (?:at (?:this|that|it)|like|forward)|ask|repeat|ought|seem|sound|missed|miss|beg|was|am|"
    r"were|had|did|will|would|could|should|might|may|can|must|shall|just|"
    r"thought|told|went|came|saw|felt|knew|took|made|gave|found|lost|won|hit|ran|ate|drank|sat|"
    r"slept|woke|forgot|held|met|sent|"
    r"spoke|stood|wrote|broke|chose|drove|fell|flew|grew|blew|caught|became|began|bought|sold|paid|"
    r"spent|brought|heard|left|kept|"
    r"[a-z]+ed|asked|tried|and|or|to|in|at|on|of|for|who|that|is|be|'m|need|want|have"
)
PAST = (
    r"went|had|did|was|were|got|made|bought|sold|took|came|saw|said|told|thought|felt|lost|won|hit|"
    r"ran|ate|drank|sat|slept|woke|"
    r"forgot|found|knew|met|sent|spent|spoke|stood|wrote|broke|chose|drove|fell|flew|gave|grew|"
    r"blew|caught|became|began|brought|"
    r"heard|kept|held|paid|misread|misheard|learned|learnt|stopped|closed|opened|trimmed|chased|watched|looked|"
    r"talked|tried|asked|called|missed|"
    r"finished|checked|worked|played|moved|cut|added|figured|noticed|realised|realized|decided|"
    r"ended|filled|scaled|mucked|booked|cooked|walked"
)
CHANGE = (
    r"moved (?:to|in|into|out|up|down|back|house|from|over|here)|(?:we've|i've|have|has|'s|"
    r"just) moved|relocated|switched|left (?!it|me|that|this|them|my|the (?:house|office))|quit\b|"
    r"gave up|given up|giving up|started (?:at|with|as|a|working|my|our)|joined|got (?:married|"
    r"divorced|engaged|promoted|laid off|a (?:new|second)|the keys|my|our)|"
    r"(?:is|am|'m|are|'re|was|been|be) (?:promoted|engaged|expecting|pregnant|diagnosed)|married|"
    r"retired|sold (?:the|our|my)|"
    r"bought (?:a|an|our|my|the) (?:house|flat|apartment|home|car|place|boat|cottage|van|second)|"
    r"opened (?:a|an|my|our)|"
    r"closed (?:my|the|our|that)(?: \w+)? account|dropped|went (?:on|up to|down to|vegan|"
    r"vegetarian|part|full|freelance|back to|from)|"
    r"rolled over|refinanced|upped|raised|increased|bumped|bumping|lifted|lifting|lowered|lowering|"
    r"raising|cutting (?:down|back|out)|"
    r"was born|were born|diagnosed|graduated|stopped (?:working|drinking|smoking|eating|trading|"
    r"using|paying|going|taking|doing)|incorporated|"
    r"paid (?:it |them |that )?off|handed in|took over|taken over|shifted|consolidated|became|turned \d|no longer|"
    r"(?:not|n't)\b.{0,40}\b(?:any ?more|any longer)|for good|is dead|is over|'s over|dropping|"
    r"switching|(?:cut|cutting|trim|trimming|drop|bring|push|put|take|reduce|"
    r"reducing)(?: \w+){0,2} ?(?:back |down |up )?to [£€$]?\d|cutting back|moving (?:to|in|house|"
    r"from|me)|"
    r"move me|adding|leaving|joining|starting (?:at|as|a|my)|got (?:rid|a job)|lost my job|"
    r"made redundant|up to \d|down to \d|put a"
)
ONGOING = (
    r"living|based|renting|working|saving|paying|studying|learning|training|teaching|running (?:a|"
    r"an|the|my)|building|renovating|writing|planning|"
    r"trying|aiming|hoping|looking after|caring|raising|retiring|expecting|doing (?:a|an|my|shift)|"
    r"going (?:vegan|part|full|back to)|"
    r"getting (?:married|divorced)|taking (?:medication|insulin|classes|lessons|dividends)|"
    r"recovering|contributing|investing|"
    r"using|collecting|volunteering|sharing|drawing|preparing for|applying|managing|leading|"
    r"splitting|putting (?:away|aside)|on a|on the"
)
WEEKDAY = r"(?:mon|tues?|wednes|thurs?|fri|satur|sun)days?"
WEEKDAYS = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days"
MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
NUMBER_WORD = (
    r"(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|"
    r"forty|fifty|sixty|ninety|"
    r"hundred|thousand|million|half|quarter|dozen|couple)"
)
ORDER_VERB = (
    r"book|send|move|check|find|draft|write|remind|show|tell|explain|run|put|add|delete|remove|"
    r"archive|translate|summari[sz]e|make|"
    r"give|lead|begin|end|look|help|take|pull|open|close|set|change|schedule|reserve|cancel|label|convert|log|"
    r"file|order|call|text|email|reply|"
    r"forward|save|note|remember|forget|wipe|fix|rewrite|create|build|search|compare|calculate|"
    r"list|read|print|copy|cc|block|mark|"
    r"keep|let|use|skip|avoid|answer|speak|ask|treat|hold|do|get|bring|mention|include|bear|talk|"
    r"prepare|generate|update|clear|"
    r"share|upload|download|attach|play|count|pick|choose|recommend|suggest|transfer|rename|swap|"
    r"push|merge|walk|erase|scrap|"
    r"respond|address|refer|limit|start|stop|be|don't|do not|never|always|please|assume|stick|"
    r"leave|go|say|watch|warn|ping|flag|"
    r"summon|double-?check|prioriti[sz]e|round|quote|cite|default|format|shorten|expand|tag|cut|"
    r"plan|try|wait|excuse|thank"
)
STANDING = (
    r"always|never|from now on|from here on|going forward|in (?:the )?future|"
    r"every (?:single )?(?:time|reply|answer|message|trade|email)|each time|"
    r"by default|no exceptions|under any circumstances|not ever|(?:don't|do not|"
    r"not) (?:\w+ ){0,4}ever\b|hold me to|as a rule|at all times|only ever|"
    r"whenever|no matter (?:what|wat|the|how)|whatever happens|hard (?:cap|limit|stop|rule)|"
    r"full stop|non-?negotiable|not negotiable|"
    r"for (?:ever|good)|permanently|throughout|my rule|the rule is|standing|until further notice|"
    r"bear (?:that|this|it)? ?in mind|"
    r"keep (?:that|this|it)? ?(?:in mind|on the radar)|at any time|without exception|on principle|unless"
)
RECUR = (
    r"every\b|each (?:day|week|month|year|quarter|morning|evening|night|trade|summer|winter|spring|"
    r"autumn|time|weekend)|daily|weekly|monthly|"
    r"yearly|annually|quarterly|nightly|fortnightly|bi-?weekly|per (?:day|week|month|year|trade|"
    r"position|hour|point|annum|spread|quarter)|"
    r"(?:a|an) (?:month|week|year|day|point|night|quarter|fortnight)\b|p/?[am]\b|/(?:mo|month|yr|year|week|wk)\b|"
    r"(?:once|twice|times|days|hours|sessions|evenings) (?:a|per|every)\b|usually|normally|"
    r"generally|mostly|mainly|typically|as usual|"
    rf"{WEEKDAYS}|(?:mon|tues?|wed|thur?s?|fri|sat|sun)\b ?(?:[-+/&]|to\b|nights?|mornings?|"
    rf"evenings?|all day|$)|on (?:my )?weekends|(?:on )?weekdays|mornings|evenings|afternoons|"
    rf"nights|most (?:days|weeks|evenings)|after tax|on hand"
)


def word_set(text: str) -> frozenset[str]:
    """The words of a text, for sets too long to write with quotes."""
    return frozenset(text.split())
