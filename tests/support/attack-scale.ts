/** Scales the attack tests: `TRAINYARD_ATTACKS=20 npx vitest run ...` sends twenty times as much. */
export const scaled = (count: number): number => count * Number(process.env['TRAINYARD_ATTACKS'] ?? 1);
