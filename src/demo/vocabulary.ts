/** The vocabulary from which the texts of the demo shop are generated, in two languages. */
export type Language = 'en' | 'de'
export type Text = Readonly<Record<Language, string>>

/** Top-level categories and their leaf categories, with the plural for the category and the singular for product names. */
export const assortment: readonly {
  name: Text
  leaves: readonly { name: Text; product: Text }[]
}[] = [
  {
    name: { en: 'Living', de: 'Wohnen' },
    leaves: [
      { name: { en: 'Lamps', de: 'Leuchten' }, product: { en: 'Lamp', de: 'Leuchte' } },
      { name: { en: 'Cushions', de: 'Kissen' }, product: { en: 'Cushion', de: 'Kissen' } },
      { name: { en: 'Rugs', de: 'Teppiche' }, product: { en: 'Rug', de: 'Teppich' } },
      { name: { en: 'Vases', de: 'Vasen' }, product: { en: 'Vase', de: 'Vase' } },
    ],
  },
  {
    name: { en: 'Kitchen', de: 'Küche' },
    leaves: [
      { name: { en: 'Pans', de: 'Pfannen' }, product: { en: 'Pan', de: 'Pfanne' } },
      { name: { en: 'Knives', de: 'Messer' }, product: { en: 'Knife', de: 'Messer' } },
      { name: { en: 'Bowls', de: 'Schalen' }, product: { en: 'Bowl', de: 'Schale' } },
      { name: { en: 'Kettles', de: 'Kessel' }, product: { en: 'Kettle', de: 'Kessel' } },
    ],
  },
  {
    name: { en: 'Garden', de: 'Garten' },
    leaves: [
      { name: { en: 'Planters', de: 'Pflanzgefäße' }, product: { en: 'Planter', de: 'Pflanzgefäß' } },
      { name: { en: 'Tools', de: 'Werkzeuge' }, product: { en: 'Trowel', de: 'Handschaufel' } },
      { name: { en: 'Lanterns', de: 'Laternen' }, product: { en: 'Lantern', de: 'Laterne' } },
      { name: { en: 'Benches', de: 'Bänke' }, product: { en: 'Bench', de: 'Bank' } },
    ],
  },
  {
    name: { en: 'Travel', de: 'Unterwegs' },
    leaves: [
      { name: { en: 'Backpacks', de: 'Rucksäcke' }, product: { en: 'Backpack', de: 'Rucksack' } },
      { name: { en: 'Bottles', de: 'Flaschen' }, product: { en: 'Bottle', de: 'Flasche' } },
      { name: { en: 'Blankets', de: 'Decken' }, product: { en: 'Blanket', de: 'Decke' } },
      { name: { en: 'Tents', de: 'Zelte' }, product: { en: 'Tent', de: 'Zelt' } },
    ],
  },
]

/** Names of the series; each leaf category has one product of every series. */
export const series = [
  'Aurora',
  'Birka',
  'Cove',
  'Dune',
  'Ember',
  'Fjord',
  'Grove',
  'Halla',
  'Isla',
  'Juno',
  'Kelda',
  'Linden',
] as const

/** The finishes of products with variants; the key is part of the buybox URL. */
export const finishes = { oak: { en: 'Oak', de: 'Eiche' }, slate: { en: 'Slate', de: 'Schiefer' } } as const
export type Finish = keyof typeof finishes
export const finishKeys: readonly Finish[] = ['oak', 'slate']

/** The content pages besides the home page. */
export const contentPages: readonly { slug: Text; title: Text }[] = [
  { slug: { en: 'about-us', de: 'ueber-uns' }, title: { en: 'About us', de: 'Über uns' } },
  { slug: { en: 'delivery', de: 'versand' }, title: { en: 'Delivery', de: 'Versand' } },
  { slug: { en: 'payment', de: 'zahlung' }, title: { en: 'Payment', de: 'Zahlung' } },
  { slug: { en: 'returns', de: 'rueckgabe' }, title: { en: 'Returns', de: 'Rückgabe' } },
  { slug: { en: 'privacy', de: 'datenschutz' }, title: { en: 'Privacy', de: 'Datenschutz' } },
  { slug: { en: 'imprint', de: 'impressum' }, title: { en: 'Imprint', de: 'Impressum' } },
  { slug: { en: 'workshop', de: 'werkstatt' }, title: { en: 'Our workshop', de: 'Unsere Werkstatt' } },
  { slug: { en: 'care-guide', de: 'pflege' }, title: { en: 'Care guide', de: 'Pflegehinweise' } },
  { slug: { en: 'journal', de: 'magazin' }, title: { en: 'Journal', de: 'Magazin' } },
]

export const sentences: Readonly<Record<Language, readonly string[]>> = {
  en: [
    'Made in small batches by people we know by name.',
    'The surface is oiled by hand and can be re-oiled at any time.',
    'Every part can be replaced, and we stock spares for twenty years.',
    'It ships from our workshop in recycled cardboard, without a gram of plastic.',
    'Light enough to carry anywhere, heavy enough to stay put.',
    'The colour comes from the material itself and deepens over the years.',
    'We tested it by the sea for two winters before we started selling it.',
    'A damp cloth is all the care it needs.',
    'Seams and joints usually fail first; ours are reinforced.',
    'It goes well with the rest of the series, and looks just as good alone.',
    'The design dates from 1962; we have changed only the hinge.',
    'If you do not like it, return it within a hundred days.',
  ],
  de: [
    'In kleiner Zahl gefertigt, von Menschen, deren Namen wir kennen.',
    'Die Oberfläche wird von Hand geölt und darf jederzeit nachgeölt werden.',
    'Jedes Teil lässt sich ersetzen, und wir halten die Teile zwanzig Jahre vor.',
    'Verschickt wird in einem Karton aus Altpapier, ohne ein Gramm Kunststoff.',
    'Leicht genug, um überallhin mitzukommen, schwer genug, um dort zu bleiben.',
    'Die Farbe kommt aus dem Material und wird mit den Jahren tiefer.',
    'Wir haben es zwei Winter lang an der See erprobt, ehe wir es verkauften.',
    'Ein feuchtes Tuch genügt zur Pflege.',
    'Nähte und Fugen geben zuerst nach; unsere sind doppelt ausgeführt.',
    'Es passt zu den übrigen Stücken der Serie, und auch zu keinem davon.',
    'Der Entwurf stammt von 1962; geändert haben wir nur das Scharnier.',
    'Wenn es nicht gefällt, nehmen wir es hundert Tage lang zurück.',
  ],
}

export const materials: readonly Text[] = [
  { en: 'Ash and linen', de: 'Esche und Leinen' },
  { en: 'Stoneware', de: 'Steinzeug' },
  { en: 'Brushed steel', de: 'Gebürsteter Stahl' },
  { en: 'Undyed wool', de: 'Ungefärbte Wolle' },
  { en: 'Waxed cotton', de: 'Gewachste Baumwolle' },
]

export const reviewers = ['Mila', 'Jonas', 'Priya', 'Tomasz', 'Aino', 'Luc', 'Greta', 'Samir'] as const

/** Labels of buttons and headings. */
export const labels = {
  en: {
    account: 'Account',
    basket: 'Basket',
    login: 'Log in',
    logout: 'Log out',
    email: 'E-mail',
    password: 'Password',
    add: 'Add to basket',
    from: 'from',
    details: 'Details',
    material: 'Material',
    size: 'Size',
    weight: 'Weight',
    article: 'Article',
    reviews: 'Reviews',
    related: 'Goes well with',
    page: 'Page',
    empty: 'Your basket is empty.',
    total: 'Total',
    hello: 'Hello',
    dealers: 'Prices for dealers',
    delivery: 'In stock, delivered in 2 to 4 days',
    tax: 'incl. VAT, plus delivery',
    notFound: 'This page does not exist.',
    home: 'Home',
    popular: 'Popular products',
    wrong: 'Wrong e-mail or password.',
    hint: 'Use any e-mail address with the password demo.',
    quantity: 'Quantity',
    finish: 'Finish',
    other: 'Deutsch',
  },
  de: {
    account: 'Konto',
    basket: 'Warenkorb',
    login: 'Anmelden',
    logout: 'Abmelden',
    email: 'E-Mail',
    password: 'Passwort',
    add: 'In den Warenkorb',
    from: 'ab',
    details: 'Einzelheiten',
    material: 'Material',
    size: 'Maße',
    weight: 'Gewicht',
    article: 'Artikel',
    reviews: 'Bewertungen',
    related: 'Passt gut dazu',
    page: 'Seite',
    empty: 'Der Warenkorb ist leer.',
    total: 'Summe',
    hello: 'Hallo',
    dealers: 'Preise für Händler',
    delivery: 'Auf Lager, in 2 bis 4 Tagen bei Ihnen',
    tax: 'inkl. MwSt., zzgl. Versand',
    notFound: 'Diese Seite gibt es nicht.',
    home: 'Startseite',
    popular: 'Beliebte Produkte',
    wrong: 'E-Mail oder Passwort ist falsch.',
    hint: 'Jede E-Mail-Adresse geht; das Passwort ist demo.',
    quantity: 'Menge',
    finish: 'Ausführung',
    other: 'English',
  },
} as const satisfies Record<Language, Record<string, string>>
