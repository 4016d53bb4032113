import type { UnreachableKey } from '../en/unreachable.ts';

export const unreachable: Readonly<Record<UnreachableKey, string>> = {
  title: 'No se puede acceder al servidor',
  text: 'Trainyard no puede acceder a su servidor. El entrenamiento continúa en los workers. Esta página se recarga en cuanto el servidor responda.',
  retry: 'Reintentar',
};
