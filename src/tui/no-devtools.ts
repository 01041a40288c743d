/** Stands in for `react-devtools-core` in the bundle: Ink names it for developers of Ink alone, and it is not installed. */
export default {}
