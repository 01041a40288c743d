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

// C0 and C1 controls, DEL, bidirectional overrides and zero-width characters, which can move the cursor, recolour the
// terminal or disguise a URL.
const unprintable = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu

/** Escapes control and formatting characters in untrusted text, for terminals and logs. */
export function printable(text: string): string {
  return text.replaceAll(unprintable, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`)
}

/** A value as one line of JSON in which control and formatting characters are escaped, for terminals too. */
export function toJsonLine(value: unknown): string {
  const escape = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  return `${JSON.stringify(value).replaceAll(unprintable, escape)}\n`
}

const escapes = /(?:%[89a-f][0-9a-f])+/gi
// Characters without a width or a shape of their own would disguise the URL.
const unreadable = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u

/** A URL for reading: escaped letters and signs outside ASCII are decoded, everything that has a meaning in a URL or none on a screen is not. */
export function readableUrl(url: string): string {
  return url.replaceAll(escapes, (escaped) => {
    try {
      return Array.from(decodeURIComponent(escaped), (character) =>
        unreadable.test(character) ? encodeURIComponent(character) : character,
      ).join('')
    } catch {
      // No UTF-8: the shop uses another encoding.
      return escaped
    }
  })
}

/** Escapes text for HTML, in elements and quoted attributes. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
}
