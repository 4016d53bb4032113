import type { help as source } from '../en/help.ts';

export const help: Readonly<Record<keyof typeof source, string>> = {
  'help.keys': 'Teclas',
  'help.keyHelp': 'A esta página',
  'help.keyTab': 'Al siguiente enlace, botón o fila',
  'help.keyRows': 'A la fila siguiente o anterior de una tabla',
  'help.keyOpen': 'Abre la fila',
  'help.keyClose': 'Cierra un diálogo o un menú',
  'help.terminal': 'En una terminal',
  'help.doctor': 'Busca qué falla en esta máquina, en el camino al orquestador y en él:',
  'help.api': 'Todas las llamadas de la API, para scripts',
  'help.diagnostics': 'Para un informe',
  'help.diagnosticsNote':
    'Lo que ayuda a entender un fallo. No nombra ningún worker, ningún trabajo ni ningún token.',
  'help.keyPalette': 'A cualquier página, worker o trabajo',
  'help.keyGo':
    'Al resumen, a los workers, a los trabajos, a la cola, a la auditoría, a los ajustes o a esta página',
  'help.keyFilter': 'Al filtro de la página',
};
