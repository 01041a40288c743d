import { Box, Text } from 'ink'
import { memo } from 'react'
import { printable } from '../lib/safe-text.ts'
import { lacksUnicode } from '../config/environment.ts'
import { toAscii } from './ascii.ts'
import type { Line } from './text/line.ts'
import { theme } from './theme.ts'

const drawn = lacksUnicode() ? (text: string) => toAscii(printable(text)) : printable

/** One row of the screen. Control characters are escaped here, so that no text can control the terminal. */
const Row = memo(function Row({ line }: { line: Line }) {
  return (
    <Text wrap="truncate">
      {line.length === 0
        ? ' '
        : line.map(({ text, tone }, index) => (
            <Text key={index} {...theme[tone]}>
              {drawn(text)}
            </Text>
          ))}
    </Text>
  )
}, sameLine)

/** Most rows do not change between two frames and need no rendering. */
function sameLine({ line: left }: { line: Line }, { line: right }: { line: Line }): boolean {
  return (
    left.length === right.length &&
    left.every(({ text, tone }, index) => text === right[index]!.text && tone === right[index]!.tone)
  )
}

export function Lines({ lines }: { lines: readonly Line[] }) {
  return (
    <Box flexDirection="column" overflow="hidden">
      {lines.map((line, index) => (
        <Row key={index} line={line} />
      ))}
    </Box>
  )
}
