const secretName = /auth|token|secret|passw|sess|sid$|login|logged|cookie|credential|api-?key/i

/** Whether settings, headers, cookies or parameters of this name hold a secret. */
export function namesSecret(name: string): boolean {
  return secretName.test(name)
}

/**
 * Masks the credentials of every URL in a text: user info, and parameters whose name suggests a secret. The patterns
 * take linear time on hostile texts, because no repetition contains the character that starts a match.
 */
export function maskUrls(text: string): string {
  return text
    .replaceAll(/:\/\/[^\s/?#]*@/g, '://***@')
    .replaceAll(/([?&]([^\s=&#?]+)=)[^\s&#]+/g, (pair, head: string, name: string) =>
      namesSecret(name) ? `${head}***` : pair,
    )
}

/** Masks URLs for a log: no credentials, and no query or fragment, which may identify the visitor. */
export function maskForLog(text: string): string {
  return maskUrls(text).replaceAll(/(https?:\/\/[^\s?#]*)[?#]\S*/gi, '$1?***')
}
