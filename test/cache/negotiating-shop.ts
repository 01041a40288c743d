import { onTestFinished } from 'vitest'
import type { OriginRequest, Reply } from './scripted-origin.ts'
import { openSite, type VisitOptions } from './site.ts'

export const shared = { 'Cache-Control': 'public, s-maxage=60' }

export const html = { ...shared, 'Content-Type': 'text/html; charset=utf-8' }

export const browser = {
  'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36',
  Accept:
    'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7',
  'Accept-Language': 'de-DE,de;q=0.9,en-US;q=0.8,en;q=0.7',
  'Accept-Encoding': 'gzip, deflate, br, zstd',
  'Upgrade-Insecure-Requests': '1',
  DNT: '1',
  'Sec-GPC': '1',
  Priority: 'u=0, i',
  'Sec-Fetch-Dest': 'document',
  'Sec-Fetch-Mode': 'navigate',
  'Sec-Fetch-Site': 'none',
  'Sec-Fetch-User': '?1',
  'Sec-CH-UA': '"Chromium";v="130", "Google Chrome";v="130", "Not?A_Brand";v="99"',
  'Sec-CH-UA-Mobile': '?0',
  'Sec-CH-UA-Platform': '"Linux"',
  'Sec-CH-Prefers-Color-Scheme': 'dark',
  'Save-Data': 'on',
}

export async function open(answers: (request: OriginRequest) => Reply) {
  const site = await openSite()
  onTestFinished(() => site.close())
  site.answers(answers)
  return { site, visit: (options: VisitOptions = {}) => site.visit('/p', { long: true, ...options }) }
}
