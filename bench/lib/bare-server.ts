/**
 * A program: the least that node:http can do for a hit, as the yardstick. It writes one prepared Buffer for
 * whatever is asked; port and coding are its arguments.
 */
import { createServer } from 'node:http'
import { pageHeaders, samplePage } from './page.ts'

const port = Number(process.argv[2])
const coding = process.argv[3] === 'gzip' ? 'gzip' : 'identity'
const body = samplePage()[coding]
const headers = {
  ...pageHeaders,
  ...(coding === 'gzip' ? { 'content-encoding': 'gzip' } : {}),
  'content-length': body.length,
}

createServer((_request, response) => {
  response.writeHead(200, headers)
  response.end(body)
}).listen(port, '127.0.0.1')
