import { PagecacheError } from '../errors.ts'
import { Browser } from './browser.ts'

export interface StageDemo {
  /** Public URL of the storefront. */
  url: string
  /** Path of the page that visitors open. */
  page: string
  write(text: string): void
  /** Runs a pagecache command and shows it with its output. */
  show(argv: readonly string[]): Promise<void>
  /** Runs a pagecache command and returns its output. */
  read(argv: readonly string[]): Promise<string>
}

/** The acts of each group of visitors, and its size. */
const kinds = [
  { visitors: 12, acts: ['impression', 'cta_click'] },
  { visitors: 20, acts: ['impression', 'close'] },
  { visitors: 5, acts: ['impression', 'permanent_dismiss'] },
  { visitors: 3, acts: ['impression'] },
] as const

const content = ['--headline', 'Ten per cent off your first order', '--text', 'Order today and get ten per cent off.']

/**
 * Creates a stage, simulates visitors who see and use it as the storefront script would, and shows its statistics. Throws
 * CHECK_FAILED if the statistics do not match the events sent.
 */
export async function showStages({ url, page, write, show, read }: StageDemo): Promise<void> {
  write('\nThe pages of the demo shop load /vendor-stage/client.js, which shows popup stages. Create one:\n')
  write(
    '$ pagecache stage:create Welcome --headline "Ten per cent off your first order" --frequency once_per_session …\n',
  )
  const id = await createStages(read, page)
  const shown = await Promise.all(
    kinds.flatMap(({ visitors, acts }) => Array.from({ length: visitors }, () => visit(url, page, id, acts))),
  )
  write(`${shown.length} visitors opened ${page}, a hit for each of them, and reacted to the stage.\n`)
  await show(['stage:stats', id])
  const { totals } = JSON.parse(await read(['stage:stats', id, '--json'])) as { totals: Record<string, number> }
  for (const type of ['impression', 'cta_click', 'close', 'permanent_dismiss']) {
    const sent = kinds
      .filter(({ acts }) => (acts as readonly string[]).includes(type))
      .reduce((sum, { visitors }) => sum + visitors, 0)
    if (totals[type] !== sent)
      throw new PagecacheError(
        'CHECK_FAILED',
        `The statistics count ${totals[type]} × ${type}, but the visitors sent ${sent}.`,
      )
  }
}

/** Creates the stage that visitors see, which leads to a page, and an inactive one. Returns the id of the first. */
async function createStages(read: StageDemo['read'], page: string): Promise<string> {
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
  const made = JSON.parse(await read(['stage:create', 'Welcome', ...content, ...options, '--json'])) as {
    stage: { id: string }
  }
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
  return made.stage.id
}

/** Simulates one visitor: opens the page, fetches the stages to show, and sends the events. */
async function visit(url: string, page: string, id: string, acts: readonly string[]): Promise<void> {
  const browser = new Browser()
  try {
    await browser.get(url + page)
    const offered = JSON.parse((await browser.get(`${url}/vendor-stage/active?pageType=products`)).text) as {
      items: { id: string }[]
    }
    if (!offered.items.some((stage) => stage.id === id))
      throw new PagecacheError('CHECK_FAILED', 'A new visitor did not get the stage.')
    for (const eventType of acts) {
      const { status } = await browser.postJson(`${url}/vendor-stage/track`, {
        popupId: id,
        eventType,
        pageType: 'products',
        requestUrl: page,
      })
      if (status !== 200) throw new PagecacheError('CHECK_FAILED', `Sending an event failed with status ${status}.`)
    }
    const again = JSON.parse((await browser.get(`${url}/vendor-stage/active?pageType=products`)).text) as {
      total: number
    }
    if (again.total !== 0) throw new PagecacheError('CHECK_FAILED', 'A visitor got a once-per-session stage twice.')
  } finally {
    browser.close()
  }
}
