/**
 * A program: the least that h3 can do for an endpoint, as the yardstick. It returns a prepared value as JSON for whatever is
 * asked; the port and the value are its arguments.
 */
import { createServer } from 'node:http'
import { H3 } from 'h3'
import { toNodeHandler } from 'h3/node'

const value = JSON.parse(process.argv[3] ?? '{}') as unknown
const app = new H3()
app.get('/**', () => value)
createServer(toNodeHandler(app)).listen(Number(process.argv[2]), '127.0.0.1')
