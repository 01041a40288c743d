export { realTiming, type Timing } from '../lib/timing.ts'
