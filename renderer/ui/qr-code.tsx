import { encode } from 'uqr';

interface QrCodeProps {
  readonly text: string;
  /** Says what the code contains. */
  readonly label: string;
}

/** Width of the empty border in modules (squares of the code). Cameras need the border to find the code. */
const border = 4;

/** A QR code as black squares on white in each theme, because many cameras do not read inverted codes. */
export function QrCode({ text, label }: QrCodeProps) {
  const { data, size } = encode(text, { ecc: 'M', border });
  return (
    <svg
      role="img"
      aria-label={label}
      className="qr-code"
      viewBox={`0 0 ${size} ${size}`}
      shapeRendering="crispEdges"
    >
      <rect width={size} height={size} fill="#fff" />
      <path d={data.flatMap(pathOf).join('')} fill="#000" />
    </svg>
  );
}

/** Returns one rectangle for each run of dark modules in a row. */
function pathOf(row: readonly boolean[], y: number): readonly string[] {
  const runs: string[] = [];
  for (let x = 0; x < row.length; x += 1) {
    if (row[x] !== true) continue;
    const start = x;
    while (row[x] === true) x += 1;
    runs.push(`M${start} ${y}h${x - start}v1h${start - x}z`);
  }
  return runs;
}
