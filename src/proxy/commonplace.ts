const mediaTypes = 'text/(?:html|css|plain|xml|javascript)|application/(?:xhtml\\+xml|xml|json|javascript|signed-exchange)|image/(?:avif|webp|apng|svg\\+xml|png|gif|jpeg|\\*)|(?:audio|video|font|text|\\*)/\\*'

/** Values that every browser sends and pages hold by chance (`document`, say): they tell nothing about a visitor. */
const commonplace: readonly (readonly [name: RegExp, value: RegExp])[] = [
  [/^sec-fetch-(?:dest|mode|site|user)$/, /^(?:audio|audioworklet|cors|cross-site|document|embed|empty|font|frame|iframe|image|json|manifest|navigate|no-cors|none|nested-navigate|object|paintworklet|report|same-origin|same-site|script|serviceworker|sharedworker|style|track|video|webidentity|websocket|worker|xslt|\?[01])$/],
  [/^sec-ch-ua(?:-.*)?$/, /^(?:"(?:Windows|macOS|Linux|Android|iOS|Chrome OS|Chromium OS|Unknown|x86|arm|64|32|)"|\?[01])$/],
  [/^(?:sec-)?purpose$/, /^prefetch(?:;prerender|;anonymous-client-ip)?$/],
  [/^accept$/, new RegExp(`^(?:(?:${mediaTypes})(?:;\\s?(?:q=[\\d.]+|v=b3))*(?:,\\s?|$))+$`)],
  [/^x-requested-with$/, /^XMLHttpRequest$/],
  [/^accept-charset$/, /^(?:utf-8|iso-8859-1|\*)$/i],
  [/^cdn-loop$/, /^(?:cloudflare|fastly|akamai)(?:;[^,]*)?$/i],
]

/** Whether a request field (its name in lower case) says what any browser could say. */
export function isCommonplace(name: string, value: string): boolean {
  return commonplace.some(([names, usual]) => names.test(name) && usual.test(value))
}
