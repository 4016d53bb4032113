import type { ColumnKey } from '../en/columns.ts';

export const columns: Readonly<Record<ColumnKey, string>> = {
  'columns.open': 'Columnas',
  'columns.title': 'Valores de la configuración como columnas',
  'columns.explain':
    'Claves en las que difieren las configuraciones de los trabajos de la lista. Este navegador recuerda hasta {max, number}.',
  'columns.search': 'Buscar claves',
  'columns.none': 'Las configuraciones de los trabajos de la lista no difieren.',
  'columns.chosen': '{count, number} de {max, number} seleccionadas',
};
