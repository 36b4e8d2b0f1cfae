"""The words of the synthetic queries: named head queries, and four lists of 64 words per language.

A *named* query comes with the slug its URLs are made of, so that ``google`` and ``google.com`` share URLs.
The other queries are phrases ``noun``, ``modifier noun``, ``modifier noun aspect`` or ``modifier noun aspect
place``; see :mod:`blendp.logs.synthetic.text`. No word holds a space, and no named query is such a phrase.
"""

from __future__ import annotations

AOL_NAMED = """
google=google  yahoo=yahoo  google.com=google  myspace.com=myspace  mapquest=mapquest  yahoo.com=yahoo
www.google.com=google  myspace=myspace  ebay=ebay  hotmail=hotmail  craigslist=craigslist
bank of america=bankofamerica  american idol=americanidol  weather=weather  msn=msn  ebay.com=ebay
www.yahoo.com=yahoo  hotmail.com=hotmail  mapquest.com=mapquest  ask jeeves=askjeeves
dictionary=dictionary  www.myspace.com=myspace  home depot=homedepot  walmart=walmart  target=target
southwest airlines=southwest  amazon=amazon  lowes=lowes  best buy=bestbuy  wells fargo=wellsfargo
chase=chase  capital one=capitalone  fedex=fedex  ups=ups  usps=usps  white pages=whitepages
yellow pages=yellowpages  expedia=expedia  travelocity=travelocity  orbitz=orbitz  irs=irs  cnn=cnn
espn=espn  disney=disney  cingular=cingular  verizon wireless=verizonwireless  circuit city=circuitcity
sears=sears  jcpenney=jcpenney  kohls=kohls  wikipedia=wikipedia  internet movie database=imdb
food network=foodnetwork  weather channel=weather  national park service=nationalparkservice
barnes and noble=barnesandnoble  netflix=netflix  nascar=nascar  american airlines=americanairlines
runescape=runescape
"""

AOL_MODIFIERS = """
cheap free used new best local online discount antique vintage modern classic custom small large mini
outdoor indoor portable digital electric wooden metal plastic leather cotton organic natural healthy easy
simple advanced beginner professional homemade handmade foldable wireless cordless ceramic glass stone brick
steel copper silver golden red blue green white black yellow round square double single heavy light quiet
fast affordable popular rare
"""

AOL_NOUNS = """
guitar piano violin drum bicycle canoe kayak tent camera telescope printer laptop keyboard monitor radio
clock lamp sofa table chair desk mattress carpet curtain kitchen oven freezer toaster kettle garden lawn
fence greenhouse rose tulip tomato pumpkin bread soup salad pizza cake cookie coffee tea dog cat horse
rabbit aquarium parrot quilt sewing knitting pottery puzzle chess baseball soccer hockey tennis golf
fishing camping
"""

AOL_ASPECTS = """
prices reviews repair parts lessons store shop supplies rental plans ideas pictures instructions manual
catalog club history facts tips guide magazine classes kits cover accessories brands sizes colors design
patterns recipes training equipment show market auction coupons sale warranty delivery storage cleaning
maintenance painting tools games books videos forum blog events museum association outlet gifts clearance
comparison dealers makers wholesale safety care rules pages
"""

AOL_PLACES = """
texas ohio florida georgia michigan virginia arizona oregon utah nevada idaho montana iowa kansas nebraska
oklahoma arkansas louisiana alabama mississippi tennessee kentucky indiana illinois wisconsin minnesota
missouri colorado wyoming washington california hawaii alaska maine vermont massachusetts connecticut
delaware maryland pennsylvania chicago boston denver seattle portland phoenix tucson dallas houston austin
memphis nashville atlanta miami orlando tampa charlotte raleigh richmond baltimore philadelphia pittsburgh
cleveland columbus
"""

AOL_ADDRESSES = """
http://www.{}.com  http://en.wikipedia.org/wiki/{}  http://{}.about.com  http://www.{}.net
http://www.{}.org  http://www.amazon.com/{}  http://www.answers.com/topic/{}  http://{}.blogspot.com
http://search.ebay.com/{}  http://www.{}.info
"""

YANDEX_NAMED = """
вконтакте=vkontakte  одноклассники=odnoklassniki  яндекс=yandex  ютуб=youtube  майл ру=mail  гугл=google
погода=pogoda  переводчик=perevodchik  в контакте=vkontakte  авито=avito  одноклассники вход=odnoklassniki
википедия=wikipedia  моя страница=vkontakte  ржд=rzd  сбербанк=sberbank  курс доллара=kursdollara
гороскоп=goroskop  карта москвы=kartamoskvy  фильмы онлайн=filmyonline  расписание электричек=raspisanie
почта россии=pochta  яндекс карты=yandex  гугл переводчик=google  рецепты=recepty  рамблер=rambler
алиэкспресс=aliexpress  билайн=beeline  мегафон=megafon  мтс=mts  кинопоиск=kinopoisk  игры=igry
музыка=muzyka  новости=novosti  программа передач=tvprogramma  скайп=skype  ростелеком=rostelecom
госуслуги=gosuslugi  афиша=afisha  озон=ozon  спорт=sport
"""

YANDEX_MODIFIERS = """
купить продать заказать выбрать починить сделать собрать построить нарисовать скачать посмотреть найти
сравнить подарить обменять арендовать отремонтировать покрасить почистить перевезти установить разобрать
настроить подключить проверить склеить связать украсить утеплить спроектировать изготовить обновить заменить
снять сдать посоветовать измерить упаковать оформить подобрать показать описать изучить придумать
приобрести доставить хранить использовать улучшить восстановить реставрировать оценить застраховать открыть
закрыть поставить повесить перекрасить усилить рассчитать перенести смонтировать наладить поменять
"""

YANDEX_NOUNS = """
диван стол стул шкаф ковер телевизор компьютер ноутбук телефон принтер монитор фотоаппарат холодильник
пылесос чайник утюг велосипед самокат автомобиль мотоцикл прицеп гараж дом забор сарай балкон потолок
паркет подоконник камин бассейн колодец фонтан парник газон сад огород костюм пиджак свитер шарф плащ
рюкзак чемодан зонт браслет торт пирог хлеб салат суп кофе чай мед мяч рояль барабан аккордеон зеркало
окно кресло пианино одеяло полотенце
"""

YANDEX_ASPECTS = """
цена отзывы фото видео онлайн бесплатно недорого самостоятельно быстро качественно оптом дешево форум
каталог магазин инструкция схема чертежи размеры характеристики советы рейтинг сравнение доставка гарантия
скидки акции распродажа аукцион объявления идеи дизайн история обзор статья книга журнал курсы уроки
мастерская сервис запчасти детали материалы инструменты производитель модели виды цвета варианты проект
план расчет стоимость кредит рассрочка аренда прокат выставка салон фабрика склад завод адреса
"""

YANDEX_PLACES = """
москва спб казань самара омск уфа пермь воронеж волгоград краснодар саратов тюмень тольятти ижевск барнаул
ульяновск иркутск хабаровск ярославль владивосток махачкала томск оренбург кемерово новокузнецк рязань
астрахань пенза липецк тула киров чебоксары калининград брянск курск иваново магнитогорск тверь ставрополь
белгород сочи архангельск владимир чита калуга смоленск волжский курган череповец орел вологда мурманск
саранск якутск тамбов грозный стерлитамак кострома петрозаводск новгород псков элиста анапа дмитров
"""

YANDEX_ADDRESSES = """
http://www.{}.ru  http://ru.wikipedia.org/wiki/{}  http://{}.narod.ru  http://market.yandex.ru/{}
http://otvet.mail.ru/{}  http://{}.livejournal.com  http://www.{}.com  http://www.ozon.ru/{}
http://{}.ucoz.ru  http://www.{}.net
"""

LETTERS = """
а=a б=b в=v г=g д=d е=e ё=e ж=zh з=z и=i й=y к=k л=l м=m н=n о=o п=p р=r с=s т=t у=u ф=f х=h ц=c ч=ch ш=sh щ=sch
ъ= ы=y ь= э=e ю=yu я=ya
"""

LATIN = {pair[0]: pair[2:] for pair in LETTERS.split()}
"""The Latin spelling of every Russian letter, for host names."""
