const secretName = /auth|token|secret|passw|sess|sid$|login|logged|cookie|credential|api-?key/i

/** True for names of settings, headers, cookies and parameters whose value nobody else may read. */
export function namesSecret(name: string): boolean {
  return secretName.test(name)
}

/**
 * Text with the credentials of every URL in it replaced: user info, and parameters that name a secret. No repetition holds the character
 * that a match begins with, so that long hostile texts take linear time.
 */
export function maskUrls(text: string): string {
  return text
    .replaceAll(/:\/\/[^\s/?#]*@/g, '://***@')
    .replaceAll(/([?&]([^\s=&#?]+)=)[^\s&#]+/g, (pair, head: string, name: string) =>
      namesSecret(name) ? `${head}***` : pair,
    )
}

/** Text for a log: URLs without credentials, and without the query and fragment, which may say who the visitor is. */
export function maskForLog(text: string): string {
  return maskUrls(text).replaceAll(/(https?:\/\/[^\s?#]*)[?#]\S*/gi, '$1?***')
}
