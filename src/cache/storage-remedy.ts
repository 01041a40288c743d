import { lifetimeAdvice } from './lifetime-advice.ts'
import { dynamicBypass } from './may-store.ts'

const shareable = 'If all visitors may get this page, have the shop send Cache-Control: public, s-maxage=600'

const remedies: readonly (readonly [beginning: string, remedy: string])[] = [
  ['Cache-Control: no-store', `${shareable} instead.`],
  ['Cache-Control: private', `${shareable} instead.`],
  ['Set-Cookie', `Have the shop set no cookie on this page. ${shareable}: it is then stored without the cookie.`],
  ['Vary: *', 'Have the shop name the fields that change the page, in place of *.'],
  [
    'Vary: Cookie',
    'Add the cookies that change the page to cache.variants.cookies, and have the shop send no Vary: Cookie.',
  ],
  ['no freshness and no validator', lifetimeAdvice.remedy],
  ['status ', 'If this answer may be cached, have the shop send Cache-Control: s-maxage=60 with it.'],
  ['must-understand', 'Have the shop answer with a standard status.'],
  [dynamicBypass, 'Nothing: the shop answered this one visitor, and other answers are stored.'],
]

/** What an operator can do about a reason not to store a response; null if there is nothing. */
export function storageRemedy(reason: string): string | null {
  return remedies.find(([beginning]) => reason.startsWith(beginning))?.[1] ?? null
}
