/** Scales the number of requests of the attack tests: `TRAINYARD_ATTACKS=20 npx vitest run ...` multiplies the number by 20. */
export const scaled = (count: number): number => count * Number(process.env['TRAINYARD_ATTACKS'] ?? 1);
