/** Texts of the page that the service worker shows while the server is unreachable. That page includes all languages. */
export const unreachable = {
  title: 'Server unreachable',
  text: 'Trainyard cannot reach its server. Training continues on the workers. This page reloads as soon as the server answers.',
  retry: 'Try again',
} as const;

export type UnreachableKey = keyof typeof unreachable;
