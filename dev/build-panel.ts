/** Builds only the panel. Without the desktop app, `npm start` needs nothing else. */
import { join } from 'node:path';
import { createBuilder } from 'vite';

const builder = await createBuilder({ root: join(import.meta.dirname, '..'), logLevel: 'warn' });
const { client } = builder.environments;
if (client !== undefined) await builder.build(client);
