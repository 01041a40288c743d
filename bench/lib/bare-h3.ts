/**
 * Program: the minimum that h3 needs for an endpoint, as the rival. Returns a prepared value as JSON for every request.
 * Arguments: port, value.
 */
import { createServer } from 'node:http'
import { H3 } from 'h3'
import { toNodeHandler } from 'h3/node'

const value = JSON.parse(process.argv[3] ?? '{}') as unknown
const app = new H3()
app.get('/**', () => value)
createServer(toNodeHandler(app)).listen(Number(process.argv[2]), '127.0.0.1')
