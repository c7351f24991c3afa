import { defineConfig } from 'prisma/config'

export default defineConfig({
  schema: 'prisma/schema.prisma',
  // Not by Prisma's env(), which throws where there is none: `prisma generate` needs no database.
  datasource: { url: process.env['DATABASE_URL'] ?? '' },
})
