import type { audit as source } from '../en/audit.ts';

export const audit: Readonly<Record<keyof typeof source, string>> = {
  'audit.type': 'Qué',
  'audit.target': 'Sobre',
  'audit.actor': 'Quién',
  'audit.at': 'Cuándo',
  'audit.seq': 'N.º',
  'audit.details': 'Detalles',
  'audit.count': '{count, plural, one {# fila} other {# filas}}',
  'audit.none': 'Todavía no se ha hecho nada.',
  'audit.noMatch': 'Ninguna fila coincide. Quién y Sobre se comparan enteros.',
  'audit.more': 'Mostrar filas anteriores',
  'audit.verify': 'Verificar ahora',
  'audit.verifying': 'Leyendo todo el registro',
  'audit.whole':
    '{count, plural, one {# fila, tal como se escribió} other {# filas, todas tal como se escribieron}}',
  'audit.broken': 'Fila {seq, number}: {problem}',
  'audit.anyType': 'Todo',
  'audit.since': 'Desde',
  'audit.until': 'Hasta',
  'audit.export': 'Exportar como líneas JSON',
  'audit.trimmed': 'Las filas hasta la {seq, number} se eliminaron por su antigüedad.',
};
