/** Replaces `react-devtools-core` in the bundle. Ink imports it for its own development only, and it is not installed. */
export default {}
