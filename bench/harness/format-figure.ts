/** Three digits that say something: 0.0052, 1.25, 48.3, 1,830. */
export function formatFigure(value: number): string {
  if (value === 0) return '0'
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))))
  return value.toLocaleString('en', { maximumFractionDigits: Math.min(digits, 6) })
}
