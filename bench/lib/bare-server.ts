/**
 * Program: the minimum that node:http needs for a hit, as the rival. Writes one prepared Buffer for every request.
 * Arguments: port, coding.
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
