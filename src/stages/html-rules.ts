/** Allowed tags in a stage's HTML. Sanitising happens on writing, so that the stored HTML is what visitors see. */
export const allowedTags = [
  'p',
  'br',
  'hr',
  'h2',
  'h3',
  'h4',
  'strong',
  'b',
  'em',
  'i',
  'u',
  's',
  'small',
  'span',
  'div',
  'ul',
  'ol',
  'li',
  'blockquote',
  'a',
  'img',
  'button',
]

/** Attributes that give an element a click action. */
const layer = ['data-action', 'data-target']

/** Allowed attributes by tag; `*`: of every tag. */
export const allowedAttributes: Record<string, string[]> = {
  '*': ['class', 'lang', 'dir', 'title', ...layer],
  a: ['href', 'target', 'rel'],
  img: ['src', 'alt', 'width', 'height', 'loading'],
  button: ['type'],
}
