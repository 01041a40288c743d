import { chromium, type Browser } from 'playwright-core'
import { installed } from './rivals.ts'

/** Debian's builds of Chromium, first the one without a user interface: it takes a third of the CPU time for a page. */
const program = ['chromium-headless-shell', 'chromium'].find(installed)

export const hasChromium = program !== undefined

/** How long a start may take, in ms. The library's own limit of 30 s is too short on a machine under load. */
const timeout = 120_000

export function openChromium(args: readonly string[] = []): Promise<Browser> {
  return chromium.launch({ executablePath: `/usr/bin/${program}`, args: ['--no-sandbox', ...args], timeout })
}
