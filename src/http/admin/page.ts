import type { H3, H3Event } from 'h3'
import type { HeaderPair } from '../../pages/page.ts'
import type { Answer } from '../answer.ts'
import { addRoutes } from '../api/route.ts'
import { BuiltFile } from '../built-file.ts'

/**
 * Content-Security-Policy: the page loads its own files and speaks to its own daemon; nothing is inline, and no page frames it. The preview
 * of a stage shows images of the shop.
 */
function policyOf(shops: readonly string[]): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    ["img-src 'self' data:", ...shops].join(' '),
    "form-action 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ')
}

const headers: readonly HeaderPair[] = [
  ['X-Frame-Options', 'DENY'],
  ['Referrer-Policy', 'no-referrer'],
  ['Cross-Origin-Opener-Policy', 'same-origin'],
  ['Cross-Origin-Resource-Policy', 'same-origin'],
  ['Cache-Control', 'no-cache'],
]

const files = [
  ['/admin', 'index.html', 'text/html'],
  ['/admin/admin.js', 'admin.js', 'text/javascript'],
  ['/admin/admin.css', 'admin.css', 'text/css'],
] as const

const toAdmin: Answer = {
  status: 308,
  headers: [
    ['Location', '/admin'],
    ['Content-Length', '0'],
  ],
  body: null,
}

/**
 * Adds the operators' page and its files. `/admin/` redirects to `/admin`.
 *
 * @param shops origins of the sales channels
 */
export function addAdmin(app: H3, shops: readonly string[]): void {
  const policy: HeaderPair = ['Content-Security-Policy', policyOf(shops)]
  const redirect = ({ url }: H3Event) => (url.pathname === '/admin/' ? toAdmin : undefined)
  for (const [path, name, type] of files) {
    const file = new BuiltFile(`admin/${name}`, [policy, ...headers, ['Content-Type', `${type}; charset=utf-8`]])
    addRoutes(app, path, { GET: ({ context }) => file.answer(context.exchange.request) }, [redirect])
  }
}
