const octet = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)'
const ipv4 = new RegExp(`^${octet}(?:\\.${octet}){3}$`)

/**
 * 4 or 6 for an IP address, 0 for any other text, like `isIP` of node:net. Every command validates the configuration,
 * and importing node:net would add three milliseconds to its start.
 */
export function ipFamily(text: string): 0 | 4 | 6 {
  if (ipv4.test(text)) return 4
  return /^[0-9a-f:.]+$/i.test(text) && text.includes(':') && URL.canParse(`http://[${text}]/`) ? 6 : 0
}
