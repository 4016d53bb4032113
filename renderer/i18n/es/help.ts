import type { help as source } from '../en/help.ts';

export const help: Readonly<Record<keyof typeof source, string>> = {
  'help.keys': 'Atajos de teclado',
  'help.keyHelp': 'Ir a esta página',
  'help.keyTab': 'Ir al siguiente enlace, botón o fila',
  'help.keyRows': 'Ir a la fila siguiente o anterior de una tabla',
  'help.keyOpen': 'Abrir la fila',
  'help.keyClose': 'Cerrar un diálogo o menú',
  'help.terminal': 'En una terminal',
  'help.doctor': 'Comprueba esta máquina, la conexión con el orquestador y el orquestador:',
  'help.api': 'Referencia de la API, para scripts',
  'help.diagnostics': 'Para informes de errores',
  'help.diagnosticsNote':
    'Información que ayuda a encontrar la causa de un problema. No contiene nombres de workers ni de trabajos, ni tokens.',
  'help.keyPalette': 'Ir a cualquier página, worker o trabajo',
  'help.keyGo': 'Ir a resumen, workers, trabajos, cola, auditoría, ajustes o esta página',
  'help.keyFilter': 'Ir al filtro de la página',
};
