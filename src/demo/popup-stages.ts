import { PagecacheError } from '../errors.ts'
import { Browser } from './browser.ts'

export interface StageShow {
  /** Where the storefront is, as visitors type it. */
  url: string
  /** Path of a page that they look at. */
  page: string
  write(text: string): void
  /** Runs a command of the product and lets it be seen. */
  show(argv: readonly string[]): Promise<void>
  /** Runs one and hands back what it printed. */
  read(argv: readonly string[]): Promise<string>
}

/** What each kind of visitor does with a stage, and how many of them come. */
const kinds = [
  { visitors: 12, acts: ['impression', 'cta_click'] },
  { visitors: 20, acts: ['impression', 'close'] },
  { visitors: 5, acts: ['impression', 'permanent_dismiss'] },
  { visitors: 3, acts: ['impression'] },
] as const

const content = [
  '--headline',
  'Ten per cent off your first order',
  '--text',
  'Leave a basket today, and we take ten per cent off.',
]

/**
 * Makes a stage, lets visitors see and use it as the storefront script would, and shows its statistics. Throws CHECK_FAILED where they
 * do not say what the visitors did.
 */
export async function showStages({ url, page, write, show, read }: StageShow): Promise<void> {
  const options = [
    '--frequency',
    'once_per_session',
    '--cta-label',
    'To the new arrivals',
    '--cta-url',
    page,
    '--dismiss-label',
    "Don't show again",
  ]
  write('\nThe pages of the demo shop load /vendor-stage/client.js, which shows popup stages. Here is one:\n')
  write(
    '$ pagecache stage:create Welcome --headline "Ten per cent off your first order" --frequency once_per_session …\n',
  )
  const made = JSON.parse(await read(['stage:create', 'Welcome', ...content, ...options, '--json'])) as {
    stage: { id: string }
  }
  const { id } = made.stage
  await read([
    'stage:create',
    'Willkommen',
    '--headline',
    'Neu hier?',
    '--text',
    'Zehn Prozent auf die erste Bestellung.',
    '--page-type',
    'categories',
    '--no-active',
    '--json',
  ])
  const shown = await Promise.all(
    kinds.flatMap(({ visitors, acts }) => Array.from({ length: visitors }, () => visit(url, page, id, acts))),
  )
  write(`${shown.length} visitors looked at ${page}, a hit for each of them, and did something with it.\n`)
  await show(['stage:stats', id])
  const { totals } = JSON.parse(await read(['stage:stats', id, '--json'])) as { totals: Record<string, number> }
  for (const type of ['impression', 'cta_click', 'close', 'permanent_dismiss']) {
    const sent = kinds
      .filter(({ acts }) => (acts as readonly string[]).includes(type))
      .reduce((sum, { visitors }) => sum + visitors, 0)
    if (totals[type] !== sent)
      throw new PagecacheError(
        'CHECK_FAILED',
        `The statistics say ${totals[type]} × ${type}; the visitors sent ${sent}.`,
      )
  }
}

/** One visitor: the page, the stages to show, and what is done with the one. */
async function visit(url: string, page: string, id: string, acts: readonly string[]): Promise<void> {
  const browser = new Browser()
  try {
    await browser.get(url + page)
    const offered = JSON.parse((await browser.get(`${url}/vendor-stage/active?pageType=products`)).text) as {
      items: { id: string }[]
    }
    if (!offered.items.some((stage) => stage.id === id))
      throw new PagecacheError('CHECK_FAILED', 'A new visitor was not offered the stage.')
    for (const eventType of acts) {
      const { status } = await browser.postJson(`${url}/vendor-stage/track`, {
        popupId: id,
        eventType,
        pageType: 'products',
        requestUrl: page,
      })
      if (status !== 200) throw new PagecacheError('CHECK_FAILED', `An event was answered with ${status}.`)
    }
    const again = JSON.parse((await browser.get(`${url}/vendor-stage/active?pageType=products`)).text) as {
      total: number
    }
    if (again.total !== 0)
      throw new PagecacheError('CHECK_FAILED', 'A visitor was offered a stage twice that is shown once in a session.')
  } finally {
    browser.close()
  }
}
