/** The headers that a browser sends with a page view; cookies only on request. */
export function browserHeaders(options: { gzip: boolean; cookie: boolean }): Record<string, string> {
  return {
    'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
    Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
    'Accept-Language': 'en-GB,en;q=0.7,de;q=0.3',
    'Accept-Encoding': options.gzip ? 'gzip' : 'identity',
    'Upgrade-Insecure-Requests': '1',
    'Sec-Fetch-Dest': 'document',
    'Sec-Fetch-Mode': 'navigate',
    'Sec-Fetch-Site': 'none',
    ...(options.cookie
      ? { Cookie: '_ga=GA1.2.1203045921.1731000000; _gid=GA1.2.881.1731000000; _fbp=fb.1.1731.77' }
      : {}),
  }
}
